#!/bin/sh
# Runs the configurations of this folder with shorter searches.
#
# Usage: short_test.sh DET DIGITS_CNN DOCS_TRANSFORMER DIGITS_CLASSIFIER DIGITS_TRIAL
set -eu
det=$1
program=$2
transformer=$3
classifier=$4
in_c=$5
DET_HOME=$(mktemp -d)
trap 'rm -rf "$DET_HOME"' EXIT
export DET_HOME
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

short() {
  sed 's/batches: 400/batches: 64/; s/batches: 100/batches: 32/; s/scheduling_unit: 50/scheduling_unit: 16/' \
    "${0%/*}/$1" | "$det" run - --slots 2 -- "$2"
}

"$program" --config "${0%/*}/const.yaml" --test
"$in_c" --config "${0%/*}/const.yaml" --test
"$classifier" --config "${0%/*}/digits_classifier.yaml" --test
short const.yaml "$program"
short const.yaml "$in_c"
if command -v mpirun >/dev/null; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  short distributed.yaml "$program"
fi
"$det" best 1
short digits_classifier.yaml "$classifier"

sed 's/batches: 400/batches: 16/; s/max_trials: 4/max_trials: 2/; s/scheduling_unit: 100/scheduling_unit: 8/' \
  "${0%/*}/transformer.yaml" | "$det" run - --slots 2 -- "$transformer"
