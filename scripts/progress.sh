# Sourced by Bash scripts that install and build: runs commands quietly, and shows what is done and how long it takes.

# step TEXT COMMAND... runs a command and prints one line: the text and the seconds it took. The end of the command's
# output is shown only if the command fails. The status is the command's; 77 means that it was skipped.
#
# On a terminal the line is updated while the command runs, with the last thing that the command printed. Elsewhere a
# line is printed every 30 seconds. A step inside a step leaves the display to the outer one.
#
#   step_log=FILE     keeps the output in FILE
#   DET_STEP_BEHIND   if set, other steps run at the same time: the line is not updated
#   DET_VERBOSE       if set, all output is shown
step() {
  local text=$1 log=${step_log:-} watcher began=$SECONDS status=0
  shift
  if [ -n "${DET_STEP:-}" ]; then
    echo "$text ..."
    "$@" || status=$?
    return $status
  fi
  [ -n "$log" ] || log=$(mktemp) || return
  watch_step "$text" "$log" $BASHPID &
  watcher=$!
  # The command is not in the background: an interrupt from the keyboard would not reach it there.
  if [ -n "${DET_VERBOSE:-}" ]; then
    DET_STEP=1 "$@" > >(tee "$log") 2>&1 </dev/null || status=$?
  else
    DET_STEP=1 "$@" >"$log" 2>&1 </dev/null || status=$?
  fi
  kill $watcher 2>/dev/null
  wait $watcher 2>/dev/null || true
  [ ! -t 1 ] || printf '\r\033[K'
  case $status in
    0) echo "$text ... $((SECONDS - began)) s" ;;
    77) echo "$text ... skipped after $((SECONDS - began)) s" ;;
    *)
      {
        echo "$text ... failed after $((SECONDS - began)) s. The end of its output:"
        tail -n 40 "$log"
      } >&2
      ;;
  esac
  [ -n "${step_log:-}" ] || rm -f "$log"
  return $status
}

# watch_step TEXT LOG PROCESS shows a step until it is killed or the process is gone.
watch_step() {
  local seconds last width began=$SECONDS shown=0 is_live=
  [ -n "${DET_STEP_BEHIND:-}${DET_VERBOSE:-}" ] || [ ! -t 1 ] || is_live=yes
  while sleep 1 && kill -0 "$3" 2>/dev/null; do
    seconds=$((SECONDS - began))
    [ -n "$is_live" ] || ((seconds >= shown + 30)) || continue
    shown=$seconds
    last=$(tail -c 4000 "$2" 2>/dev/null | tr '\r' '\n' | grep -v '^ *$' | tail -n 1 | tr -cd '[:print:]')
    last="$1 ... $seconds s so far: $last"
    if [ -n "$is_live" ]; then
      width=$(tput cols 2>/dev/null) || width=80
      printf '\r\033[K%s' "${last:0:$((width - 1))}"
    else
      echo "${last:0:120}"
    fi
  done
}
