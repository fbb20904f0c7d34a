#!/bin/sh
# Tests the program of README.md. It is killed at several moments, paused, and started again. The
# result is the same as without interruptions: one trial, each step once.
#
# Usage: minimal_test.sh PROGRAM DET
set -eu
minimal=$1 det=$2
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID DET_HPARAMS

fail() {
  echo "minimal: $*" >&2
  "$det" show 1 >&2
  exit 1
}

# Prints STEP,LOSS of each report of all runs.
curve() { "$det" metrics 1 --csv | cut -d, -f2,5; }
steps() { "$det" show 1 --json 2>/dev/null | sed 's/"steps_completed":\([0-9]*\).*/\1/; s/.*[^0-9]//'; }

(export DET_HOME="$store/alone"; "$minimal" >"$store/alone.txt"; curve >"$store/alone.csv") &
alone=$!
export DET_HOME="$store/stopped"

# start STEP: starts the program and waits until the trial has reached a step.
start() {
  "$minimal" >"$store/stopped.txt" &
  program=$!
  until reached=$(steps) && [ "${reached:-0}" -ge "$1" ]; do
    kill -0 "$program" 2>/dev/null || fail "ended before step $1"
    sleep 0.02
  done
}

for step in 0 1 99 250 301; do
  start "$step"
  kill -KILL "$program"
  wait "$program" 2>/dev/null || :
done
start 450
"$det" pause 1 >/dev/null
status=0; wait "$program" || status=$?
[ "$status" = 75 ] || fail "exited with $status when it was paused"
[ "$("$det" ls --json | sed 's/.*"state":"\([A-Z]*\)".*/\1/')" = PAUSED ] || fail "is not paused"
paused=$(steps)
start 900
kill -KILL "$program" || :
wait "$program" 2>/dev/null || :
"$minimal" >"$store/stopped.txt"

wait "$alone"
[ "$("$det" ls --json | wc -l)" -eq 1 ] || fail "there is a second trial"
"$det" metrics 1 --csv | grep -q "^training,$((paused + 1)),[67]," ||
  fail "was paused at step $paused, but resumed elsewhere"
curve >"$store/stopped.csv"
sed 1d "$store/stopped.csv" | cut -d, -f1 >"$store/steps"
seq 1000 | cmp - "$store/steps" || fail "does not have each step exactly once"
cmp "$store/alone.csv" "$store/stopped.csv" || fail "reported other values than without interruptions"
[ "$(tail -n 1 "$store/stopped.txt")" = "$(tail -n 1 "$store/alone.txt")" ] || fail "ended elsewhere"
