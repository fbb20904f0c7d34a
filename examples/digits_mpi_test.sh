#!/bin/sh
# Tests a training over MPI that is killed, resumed on fewer ranks, paused, and resumed on another
# number of ranks. It loses nothing, and learns as well as a training without interruptions.
#
# Usage: digits_mpi_test.sh MPIRUN PROGRAM DET
set -eu
mpirun=$1 digits=$2 det=$3
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
unset DET_MASTER DET_TRIAL_ID DIGITS_BATCH_MS
# Ranks share cores here, and containers often have no user except root.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

train() { exec "$mpirun" --oversubscribe -n "$1" "$digits"; }
children() { cat "/proc/$1/task/$1/children"; }
checkpoints() { "$det" checkpoints 1 --json 2>/dev/null | wc -l; }
latest_step() { "$det" checkpoints 1 --json | head -n 1 | sed 's/.*"steps_completed":\([0-9]*\).*/\1/'; }
# Prints RUN STEP ACCURACY of each epoch.
epochs() { "$det" metrics 1 --group validation --name accuracy --csv | awk -F, 'NR > 1 { print $3, $2, $5 }'; }

fail() {
  echo "digits_mpi: $*" >&2
  "$det" show 1 >&2
  epochs >&2
  exit 1
}

# Starts a job on $1 ranks and waits until it has saved $2 more checkpoints.
start() {
  (DIGITS_BATCH_MS=2 train "$1") &
  job=$!
  enough=$(($(checkpoints) + $2))
  while [ "$(checkpoints)" -lt "$enough" ]; do
    kill -0 "$job" || fail "ended before it could be stopped"
    sleep 0.05
  done
}

(DET_HOME="$store/alone" train 4) >"$store/alone.txt"

export DET_HOME="$store/stopped" DET_EXTERNAL_ID=digits
start 4 3
# shellcheck disable=SC2046
kill -KILL "$job" $(children "$job")
wait "$job" 2>/dev/null || :
killed_at=$(latest_step)

start 2 5
kill -USR1 "$job"
status=0; wait "$job" || status=$?
[ "$status" = 75 ] || fail "exited with $status when it was asked to stop"
paused_at=$(latest_step)

(train 3) >"$store/stopped.txt"

cat "$store/alone.txt" "$store/stopped.txt"
epochs >"$store/epochs.txt"
awk -v killed_at="$killed_at" -v paused_at="$paused_at" '
  $1 == 2 && !second { second = $2; if ($2 <= killed_at || $2 > killed_at + 23) exit 1 }
  $1 == 3 && !third { third = $2; if ($2 <= paused_at || $2 > paused_at + 23) exit 1 }
  END { if (!second || !third || $2 != 920) exit 1 }
' "$store/epochs.txt" || fail "killed at step $killed_at, paused at $paused_at, but resumed elsewhere"
awk '{ accuracy[NR] = $2 + 0 }
  END { difference = accuracy[1] - accuracy[2]
        exit NR != 2 || accuracy[2] < 0.95 || difference > 0.02 || difference < -0.02 }
' "$store/alone.txt" "$store/stopped.txt" || fail "learned worse than a training without interruptions"

# With hyperparameters that cannot work, every rank exits with 0 and the master gets the reason.
export DET_HOME="$store/invalid" DET_HPARAMS='{"hidden_size": 0}'
(train 3) >/dev/null 2>"$store/invalid.txt" || fail "exited as if the master should retry the failure"
grep -q 'hidden_size must be' "$store/invalid.txt" || fail "does not report the reason"
"$det" show 1 --json | grep -q '"exit":"invalid_hp"' || fail "did not report the reason to the master"
