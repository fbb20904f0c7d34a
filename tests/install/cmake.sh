#!/bin/sh
# What find_package(detcore) finds and refuses: examples/c/minimal.c is built with it and run.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"
command -v cmake >/dev/null || { echo "skipped: there is no cmake"; exit 77; }

# Configures a project that asks for the library: project LANGUAGES WHAT-FOLLOWS-FIND_PACKAGE [LINE]
project() {
  rm -rf "$folder/project"
  mkdir "$folder/project"
  cat >"$folder/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.19)
project(example $1)
find_package(detcore $2)
${3:-}
END
  # Without a language CMake does not know the folder of this machine's libraries.
  if [ "$1" = NONE ]; then where="-Ddetcore_DIR=$libdir/cmake/detcore"; else where="-DCMAKE_PREFIX_PATH=$prefix"; fi
  cmake -S "$folder/project" -B "$folder/project" "$where" >"$folder/cmake.txt" 2>&1
}
found() { project "$@" || { cat "$folder/cmake.txt"; fail "find_package(detcore $2) finds nothing"; }; }
# refused LANGUAGES WHAT-FOLLOWS-FIND_PACKAGE PART-OF-THE-MESSAGE
refused() {
  ! project "$1" "$2" || fail "find_package(detcore $2) is content"
  # CMake breaks the lines of messages.
  tr -s ' \n' ' ' <"$folder/cmake.txt" | grep -qF -- "$3" ||
    { cat "$folder/cmake.txt"; fail "find_package(detcore $2) does not say: $3"; }
}

found C "0.1 REQUIRED CONFIG" "add_executable(minimal $source/examples/c/minimal.c)
target_link_libraries(minimal PRIVATE detcore::detcore)"
cmake --build "$folder/project" >"$folder/cmake.txt" || { cat "$folder/cmake.txt"; exit 1; }
"$folder/project/minimal"
"$prefix/bin/det" metrics 1 --csv | grep '^training,100,'

# From an archive, which CMake fetches.
rm -rf "$folder/fetch"
cp -r "$source/tests/install/fetch_content" "$folder/fetch"
cp "$source/examples/c/minimal.c" "$folder/fetch/train.c"
archive=$(sed -n 's/.*CMAKE_SOURCE_DIR}\/\([^"]*\)".*/\1/p' "$folder/fetch/CMakeLists.txt")
tar -C "$folder" -czf "$folder/fetch/$archive" "$(basename "$prefix")"
{ cmake -S "$folder/fetch" -B "$folder/fetch/build" && cmake --build "$folder/fetch/build"; } \
  >"$folder/cmake.txt" 2>&1 || { cat "$folder/cmake.txt"; fail "FetchContent"; }
"$folder/fetch/build/train"

found CXX "0.1 REQUIRED CONFIG" "add_executable(metrics $source/examples/cpp/metrics.cc)
target_link_libraries(metrics PRIVATE detcore::cpp)"
cmake --build "$folder/project" >"$folder/cmake.txt" || { cat "$folder/cmake.txt"; exit 1; }
"$folder/project/metrics" | grep '"resident_mib":12'

if [ -e "$build/packaging/detnn.pc" ]; then
  found CXX "REQUIRED COMPONENTS nn" "add_executable(model $source/examples/nn/model.cc)
target_link_libraries(model PRIVATE detcore::nn detcore::cpp)"
  cmake --build "$folder/project" >"$folder/cmake.txt" || { cat "$folder/cmake.txt"; exit 1; }
  "$folder/project/model" | grep '^after 500 batches: loss 0.00'
  rm "$libdir"/libdetnn.so*
fi
refused NONE "REQUIRED COMPONENTS nn" "component 'nn' is not there"

for version in "" 0 0.1 0.1.0 "0.1.0 EXACT" 0.0.9...0.2 0.1...0.1.0 "0...<1"; do
  found NONE "$version REQUIRED"
done
for version in 0.2 0.1.1 1 "0.1.1 EXACT" 0.2...0.3 "0.0.1...<0.1.0" 0.0.1...0.0.9; do
  refused NONE "$version REQUIRED" "version: 0.1.0"
done

refused NONE "REQUIRED COMPONENTS nonsense" "there is no component 'nonsense' of detcore; there are: mpi, nn"
found NONE "REQUIRED OPTIONAL_COMPONENTS nonsense" "if(detcore_nonsense_FOUND OR NOT TARGET detcore::detcore)
  message(FATAL_ERROR)
endif()"
if [ -e "$libdir/libdetcore-mpi.so" ]; then
  found C "REQUIRED COMPONENTS mpi" "add_executable(
  digits_mpi $source/examples/mpi/digits_mpi.c $source/examples/c/digits_model.c)
target_include_directories(digits_mpi PRIVATE $source/examples/c)
target_link_libraries(digits_mpi PRIVATE detcore::mpi m)"
  cmake --build "$folder/project" >"$folder/cmake.txt" || { cat "$folder/cmake.txt"; exit 1; }
  refused NONE "REQUIRED COMPONENTS mpi" "component 'mpi' needs MPI for C"
  rm "$libdir"/libdetcore-mpi.so*
fi
refused C "REQUIRED COMPONENTS mpi" "detcore was built or installed without it"
found C "REQUIRED OPTIONAL_COMPONENTS mpi"

# As in a system where /lib is a link to /usr/lib.
mkdir "$folder/linked"
ln -s "$prefix/lib" "$folder/linked/lib"
prefix=$folder/linked
found C "REQUIRED" "add_executable(minimal $source/examples/c/minimal.c)
target_link_libraries(minimal PRIVATE detcore::detcore)"
cmake --build "$folder/project" >"$folder/cmake.txt" || { cat "$folder/cmake.txt"; fail "through a link"; }
