#!/bin/sh
# Configurations of digits_cnn.cc, cut short. Usage: short_test.sh DET PROGRAM
set -eu
det=$1
program=$2
DET_HOME=$(mktemp -d)
trap 'rm -rf "$DET_HOME"' EXIT
export DET_HOME
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

short() {
  sed 's/batches: 400/batches: 64/; s/batches: 100/batches: 32/; s/scheduling_unit: 50/scheduling_unit: 16/' \
    "${0%/*}/$1" | "$det" run - --slots 2 -- "$program"
}

short const.yaml
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  short distributed.yaml
fi
"$det" best 1
