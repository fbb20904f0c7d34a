#!/bin/sh
# Compiles the examples that were installed, each by the line that the head of its file shows.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"

cp -r "$prefix/share/doc/detcore/examples" "$folder/examples"
# Where there is another MPI too, its compiler may have that name.
mkdir "$folder/bin"
if compiler=$(command -v mpicc.openmpi); then ln -s "$compiler" "$folder/bin/mpicc"; fi
export PATH="$folder/bin:$PATH"

compiled=
for file in "$folder"/examples/c/*.c "$folder"/examples/mpi/*.c; do
  name=$(basename "$file" .c)
  line=$(awk '{ sub(/^ \* */, "") } /^(mpi)?cc / || more { print; more = /\\$/ } /\*\// { exit }' "$file")
  [ -n "$line" ] || continue
  case $line in mpicc*) [ -e "$PKG_CONFIG_LIBDIR/detcore-mpi.pc" ] || continue ;; esac
  echo "$name: $line"
  (cd "${file%/*}" && sh -c "$line") || fail "$name: what its head shows does not compile it"
  [ -x "${file%.c}" ] || fail "$name: what its head shows makes no program of that name"
  compiled="$compiled $name"
done
case $compiled in *" digits"*) ;; *) fail "the head of digits.c shows no line" ;; esac

cd "$folder/examples/c"
LD_LIBRARY_PATH=$libdir ./digits | tee "$folder/digits.txt"
"$prefix/bin/det" ls | grep -q digits
