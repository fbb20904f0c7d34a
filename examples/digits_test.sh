#!/bin/sh
# Tests a training that SIGTERM stops twice. It ends exactly like a training without interruptions.
#
# Usage: digits_test.sh PROGRAM
set -eu
digits=$1
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
unset DET_MASTER DET_TRIAL_ID DIGITS_BATCH_MS

DET_HOME="$store/alone" "$digits" > "$store/alone.txt"

# Keeps every checkpoint, so that the loop below can count them.
export DET_HOME="$store/stopped" DET_EXTERNAL_ID=digits \
  DET_EXPERIMENT_CONFIG='{"checkpoint_storage": {"save_trial_latest": 100}}'
for checkpoints in 3 8; do
  DIGITS_BATCH_MS=2 "$digits" >> "$store/stopped.txt" &
  while [ "$(ls "$DET_HOME" 2>/dev/null | wc -l)" -lt "$checkpoints" ]; do
    kill -0 $! || exit 1
    sleep 0.05
  done
  kill -TERM $!
  status=0; wait $! || status=$?
  [ "$status" = 75 ] || exit 1
done
"$digits" >> "$store/stopped.txt"

cat "$store/alone.txt"
diff "$store/alone.txt" "$store/stopped.txt"
awk '{ exit !($2 + 0 >= 0.95) }' "$store/alone.txt"

# With hyperparameters that cannot work, it reports the reason and exits with 0.
DET_HOME="$store/invalid" DET_HPARAMS='{"hidden_size": 0}' "$digits" 2> "$store/invalid.txt"
grep -q 'hidden_size must be' "$store/invalid.txt"
