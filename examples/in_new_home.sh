#!/bin/sh
# Runs an example several times with a new store. Stops at its first failure.
#
# Usage: in_new_home.sh TIMES PROGRAM
set -eu
DET_HOME=$(mktemp -d)
trap 'rm -rf "$DET_HOME"' EXIT
export DET_HOME
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID
for _ in $(seq "$1"); do "$2" || [ $? = 75 ]; done # 75: it was asked to stop
