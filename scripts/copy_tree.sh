#!/bin/bash
# Copies what is in this tree and not ignored, and what of subprojects/ is unpacked: copy_tree.sh FOLDER. What
# is there already goes, but for folders build* and unpacked subprojects.
set -euo pipefail
mkdir -p "$1/subprojects"
target=$(realpath "$1")
cd "$(dirname "$0")/.."

find "$target" -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name subprojects -exec rm -rf {} +
# A file that is deleted, but not yet in a commit, is in both lists.
{ git ls-files -z --cached --others --exclude-standard && git ls-files -z --deleted; } |
  sort -z | uniq -zu | tar --null -T - -c | tar x -C "$target"
for place in subprojects/*/; do cp -a "$place" "$target/subprojects/"; done
