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
for file in "$folder"/examples/c/*.c "$folder"/examples/cpp/*.cc "$folder"/examples/mpi/*.c "$folder"/examples/nn/*.c "$folder"/examples/nn/*.cc "$folder"/examples/languages/train.c*; do
  name=${file##*/}
  program=${file%.*}
  line=$(awk '{ sub(/^( \*|\/\/) */, "") } /^flags=|^(mpi)?cc |^c\+\+ / || more { print; more = /\\$/ }
    /\*\/|^#/ { exit }' "$file")
  [ -n "$line" ] || continue
  case $line in
    *mpicc*) [ -e "$PKG_CONFIG_LIBDIR/detcore-mpi.pc" ] || continue ;;
    *detnn*) [ -e "$build/packaging/detnn.pc" ] || continue ;;
  esac
  echo "$name: $line"
  rm -f "$program" # of another language
  (cd "${file%/*}" && sh -c "$line") || fail "$name: what its head shows does not compile it"
  [ -x "$program" ] || fail "$name: what its head shows makes no program of that name"
  compiled="$compiled $name"
done
for name in digits.c digits.cc train.c train.cc; do
  case "$compiled " in *" $name "*) ;; *) fail "the head of $name shows no line" ;; esac
done

cd "$folder/examples/c"
LD_LIBRARY_PATH=$libdir ./digits | tee "$folder/digits.txt"
"$prefix/bin/det" ls | grep -q digits

[ -e "$build/packaging/detnn.pc" ] || exit 0
cd "$folder/examples/nn"
LD_LIBRARY_PATH=$libdir "$prefix/bin/det" run const.yaml -- ./digits_cnn | tee "$folder/cnn.txt"
