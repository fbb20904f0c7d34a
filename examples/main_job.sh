#!/bin/sh
# Searches for hyperparameters of examples/c/digits.c on this machine, and shows the results.
#
#     BUILD=build examples/main_job.sh        the perceptron of examples/c/digits.c
#     BUILD=build examples/main_job.sh cnn    the network of examples/nn/digits_cnn.cc
#
# Several trials run at once. BUILD names the Meson build directory. The search uses a new store in
# it, so your own store stays unchanged.
set -eu
BUILD=$(cd "${BUILD:?set BUILD to the Meson build directory}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
PATH="$BUILD/wrappers/cli:$BUILD/examples:$PATH"
search=search/digits.yaml metric=accuracy
DET_HOME="$BUILD/main-job"
if [ "${1:-}" = cnn ]; then
  search=nn/adaptive.yaml metric=val_accuracy
  DET_HOME="$DET_HOME-cnn"
  shift
fi
export DET_HOME PATH
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

fail() {
  echo "main job: $*" >&2
  exit 1
}

rm -rf "$DET_HOME"
echo "Searching for hyperparameters on 1,438 handwritten digits ..."
echo "  \$ det run examples/$search"
det run "$here/$search" "$@" || fail "the search failed"
echo
echo "The best trials:"
echo "  \$ det trials 1"
det trials 1 | head -n 6
echo
echo "How much each hyperparameter mattered:"
echo "  \$ det hparams 1"
det hparams 1
echo
best=$(det best 1 --json | sed -n 's/.*"trial_id": *\([0-9]*\).*/\1/p' | head -n 1)
[ -n "$best" ] || fail "the search has no best trial"
det plot "$best" loss
echo
cat <<END
Next commands:
  export DET_HOME='$DET_HOME' PATH="$BUILD/wrappers/cli:\$PATH"
  det best 1                  the best trial, its checkpoint, and how to load it
  det show $best                  its hyperparameters, runs and checkpoints
  det logs $best                  what it printed
  det plot $best $(printf %-17s $metric)another plot
  det --help                  everything else
END
[ $search = nn/adaptive.yaml ] || echo "To do the same with a convolutional network, in C++: ./run cnn"
accuracy=$(det metrics "$best" --group validation --name $metric --csv | tail -n +2 | cut -d, -f5 |
  sort -n | tail -n 1)
awk "BEGIN { exit !($accuracy >= 0.95) }" || fail "the best test accuracy is $accuracy, below 0.95"
