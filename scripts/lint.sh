#!/bin/bash
# Format and static analysis: `lint.sh format` or `lint.sh tidy BUILD_FOLDER`, with --changed for
# only the files that differ from the last commit.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1-}
build=${2:-build}

files() {
  if [ "${*: -1}" = --changed ]; then
    git diff --name-only --diff-filter=d HEAD
    git ls-files --others --exclude-standard
  else
    git ls-files
  fi
}

# A list without a match is no failure.
matching() { grep -E "$1" || [ $? = 1 ]; }

case $mode in
  format)
    command -v clang-format-14 >/dev/null || {
      echo "skipped: this system has no clang-format-14"
      exit 77
    }
    files "$@" | matching '\.(c|cc|h|hpp)$' | xargs --no-run-if-empty clang-format-14 --dry-run -Werror
    ;;
  tidy)
    # Only what the build compiles has a command to analyse it with.
    files "$@" | matching '^(core|capi|wrappers|examples)/.*\.(c|cc)$' |
      while read -r file; do
        if grep -qF "/$file\"" "$build/compile_commands.json"; then echo "$file"; fi
      done |
      xargs --no-run-if-empty -P "$(nproc)" -n 1 \
        clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*' \
        --extra-arg=-Wno-unknown-warning-option
    ;;
  *)
    echo "lint.sh: the mode is '$mode'; give 'format' or 'tidy BUILD_FOLDER'" >&2
    exit 2
    ;;
esac
