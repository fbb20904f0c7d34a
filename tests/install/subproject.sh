#!/bin/sh
# As a subproject of Meson the library alone is built, in few steps.
set -eu
source=$1
command -v meson >/dev/null || { echo "skipped: there is no meson"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/subprojects"
ln -s "$source" "$folder/subprojects/detcore"
cp "$source/tests/install/subproject/meson.build" "$folder/"
cp "$source/examples/c/minimal.c" "$folder/train.c"
meson setup "$folder/build" "$folder" >"$folder/setup.txt" 2>&1 || { cat "$folder/setup.txt"; exit 1; }
ninja -C "$folder/build" -n >"$folder/steps.txt"
grep -q 'Linking target train$' "$folder/steps.txt"
grep -q 'Linking target .*libdetcore\.so' "$folder/steps.txt"
if grep -E 'wrappers/|core/launcher|tests/|examples/' "$folder/steps.txt"; then
  echo "a program needs none of these" >&2
  exit 1
fi
steps=$(grep -c '^\[' "$folder/steps.txt")
[ "$steps" -lt 100 ] || { echo "$steps steps are too many" >&2; exit 1; }
