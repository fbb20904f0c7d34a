#!/bin/sh
# Runs the code blocks and commands of README and docs/ against what `meson install` gives.
# Usage: run.sh SOURCE BUILD [PAGE...]
. "${0%/*}/../install/prefix.sh"
shift 2
PATH="$prefix/bin:$PATH" LD_LIBRARY_PATH="$libdir" python3 "${0%/*}/run_blocks.py" "$source" "$build" "$folder" "$@"
