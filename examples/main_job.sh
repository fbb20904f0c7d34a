#!/bin/sh
# The main job: trains examples/c/digits.c on this machine, pauses it midway from a second process,
# resumes it, and shows what came out. BUILD names the Meson build directory. The store is a new one
# under it, so that the job is trial 1 and the user's own store stays as it is.
set -eu
BUILD=$(cd "${BUILD:?set BUILD to the Meson build directory}" && pwd)
PATH="$BUILD/wrappers/cli:$PATH"
digits="$BUILD/examples/digits"
DET_HOME="$BUILD/main-job"
DIGITS_BATCH_MS=2 # slow enough to be interrupted
export DET_HOME DIGITS_BATCH_MS
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID

pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null || :' EXIT

fail() {
  echo "main job: $*" >&2
  exit 1
}

# The column of det's comma-separated validation metrics, without its title.
column() { det metrics 1 --group validation --name accuracy --csv | tail -n +2 | cut -d, -f"$1"; }
epochs() { column 5 2>/dev/null | wc -l; }

rm -rf "$DET_HOME"
echo "Training on 1,438 handwritten digits ..."
"$digits" > /dev/null &
pid=$!

while [ "$(epochs)" -lt 10 ]; do
  kill -0 "$pid" 2>/dev/null || fail "training ended before it could be paused"
  sleep 0.1
done

echo "Pausing it from a second process:"
echo "  \$ det pause 1"
resume=$(det pause 1 | tee "$DET_HOME/pause.txt" | sed -n 's/^Start it again with: //p')
sed 's/^/  /' "$DET_HOME/pause.txt"
rm "$DET_HOME/pause.txt"
wait "$pid" || fail "the paused process failed"
pid=
det ls | sed 's/^/  /'
paused=$(det ls --json)
case $paused in *'"PAUSED"'*) ;; *) fail "the trial is not paused: $paused" ;; esac

echo "Resuming it as det says:"
echo "  \$ $resume"
sh -c "$resume" > /dev/null
echo

best=$(column 5 | sort -n | tail -1)
final=$(column 5 | tail -1)
runs=$(column 3 | sort -u | wc -l)
checkpoints=$(det checkpoints 1 --json | wc -l)
echo "Trial 1 trained $(epochs) epochs in $runs runs."
printf '  test accuracy  %.4f (best %.4f), on 359 digits it never learned from\n' "$final" "$best"
echo "  checkpoints    $checkpoints, in $DET_HOME"
echo
det plot 1 loss
echo
cat <<END
To look further:
  export DET_HOME='$DET_HOME' PATH="$BUILD/wrappers/cli:\$PATH"
  det show 1                  hyperparameters, runs, the latest checkpoint
  det metrics 1 --csv         every epoch, for a spreadsheet
  det plot 1 accuracy         another plot
  det checkpoints 1           what could be restored
  det --help                  everything else
END
[ "$runs" -eq 2 ] || fail "expected two runs"
awk "BEGIN { exit !($final >= 0.95) }" || fail "test accuracy below 0.95"
