#!/bin/sh
# Runs the search of digits.yaml with another program than the C one, and with fewer trials.
#
# Usage: short_test.sh DET PROGRAM
set -eu
det=$1
program=$2
DET_HOME=$(mktemp -d)
trap 'rm -rf "$DET_HOME"' EXIT
export DET_HOME
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

sed 's/epochs: 64/epochs: 8/; s/max_trials: 24/max_trials: 4/' "${0%/*}/digits.yaml" |
  "$det" run - --slots 2 -- "$program"
[ "$("$det" trials 1 --json | grep -c '"COMPLETED"')" -eq 4 ]
"$det" best 1
