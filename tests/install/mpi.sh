#!/bin/sh
# A program that knows no MPI finds libdetcore-mpi beside its libdetcore: mpi.sh SOURCE BUILD MPIRUN.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"
mpirun=$3
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

if ldd "$libdir/libdetcore-mpi.so" | grep 'libdetcore.*not found'; then
  fail "libdetcore-mpi does not find libdetcore beside it"
fi
# shellcheck disable=SC2046
cc -std=c11 "$source/tests/install/joins_mpi.c" $(pkg-config --cflags --libs detcore) \
  "-Wl,-rpath,$libdir" -o "$folder/joins_mpi"
joined=$("$mpirun" --oversubscribe -n 2 "$folder/joins_mpi")
expected="2 ranks, $(realpath "$libdir/libdetcore-mpi.so")"
[ "$joined" = "$expected" ] || fail "joined by '$joined', not by '$expected'"
