#!/bin/sh
# Runs a search whose trials are jobs of two ranks. Each job is one trial and ends as one.
#
# Usage: two_ranks_test.sh DET DIGITS_MPI
set -eu
det=$1
digits=$2
DET_HOME=$(mktemp -d)
trap 'rm -rf "$DET_HOME"' EXIT
export DET_HOME
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

"$det" run - --slots 2 -- "$digits" <<END
name: two ranks
searcher:
  name: random
  max_trials: 2
  max_length: {epochs: 2}
  metric: accuracy
  smaller_is_better: false
resources: {slots_per_trial: 2}
hyperparameters:
  learning_rate: {type: log, base: 10, minval: -3, maxval: -1}
END
[ "$("$det" trials 1 --json | grep -c '"COMPLETED"')" -eq 2 ]
"$det" show 1 --json | grep -q '"rank":1'
