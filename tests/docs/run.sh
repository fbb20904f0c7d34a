#!/bin/sh
# Runs the code blocks and commands of README and docs/ against what `meson install` gives.
# Usage: run.sh SOURCE BUILD [PAGE|FOLDER...]
. "${0%/*}/../install/prefix.sh"
shift 2
# Python programs have the package of the sources, and the libraries that its tests have as well.
PATH="$prefix/bin:${DETCORE_VENV:-$source/.venv}/bin:$PATH" LD_LIBRARY_PATH="$libdir" \
  PYTHONPATH="$source/wrappers/python" PYTHONDONTWRITEBYTECODE=1 python3 "${0%/*}/run_blocks.py" "$source" "$build" "$folder" "$@"
