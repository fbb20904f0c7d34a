#!/bin/sh
# A shell script as a trial, as tests/cli/trainee.c is one in C: its loss is (x - 0.3)² / length.
# TRAINEE_MS: how long a step takes. MODEL: its directory, and the trial's id behind it.
set -eu
model=$MODEL$DET_TRIAL_ID
step=$(det checkpoint restore "$model")
[ "$step" = 0 ] || [ "$(cat "$model/step")" = "$step" ]
saved=$step stop=0
echo "run begins at $step"
while length=$(det next) || { stop=$?; false; }; do
  loss=$(awk "BEGIN { printf \"%.17g\", ($DET_HPARAM_x - 0.3) ^ 2 / $length }")
  mkdir -p "$model"
  if [ "$step" -lt "$length" ]; then
    step=$((step + 1))
    echo "$step" > "$model/step"
    det report loss="$loss" --step "$step"
    det next --progress "$step"
    sleep "$(awk "BEGIN { print ${TRAINEE_MS:-0} / 1000 }")"
  else
    det report loss="$loss" --step "$step" --group validation
    [ "$step" = "$saved" ] || det checkpoint save "$model" --step "$step"
    saved=$step
    det next --completed "$loss"
  fi
done
case $stop in
  12) ;;
  13) [ "$step" = "$saved" ] || det checkpoint save "$model" --step "$step" ;;
  *) exit "$stop" ;;
esac
