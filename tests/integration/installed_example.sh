#!/bin/sh
# Installs into a new prefix, then builds and runs examples/c/minimal.c from there, with the given
# way of finding the library: usage installed_example.sh pkg-config|cmake SOURCE BUILD.
set -eu
way=$1 source=$2 build=$3

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID
export DET_HOME="$folder/home"

DESTDIR="$folder/stage" meson install -C "$build" --no-rebuild --quiet
# The prefix moves after the installation: nothing may hold on to the path it was made for.
mkdir "$folder/example"
cp "$source/examples/c/minimal.c" "$folder/example"
cd "$folder/stage"
prefix=$(dirname "$(find "$PWD" -type d -path '*/include/det')")
mv "$(dirname "$prefix")" "$folder/moved"
prefix=$folder/moved
library=$(find "$prefix" -name libdetcore.so)
export LD_LIBRARY_PATH="${library%/*}"
cd "$folder/example"

case $way in
  pkg-config)
    # Alone there: what the library was built with need not be installed.
    export PKG_CONFIG_LIBDIR="${library%/*}/pkgconfig"
    # shellcheck disable=SC2046
    cc -std=c11 -Wall -Wextra -pedantic -Werror minimal.c $(pkg-config --cflags --libs detcore) \
      -o minimal
    ;;
  cmake)
    command -v cmake >/dev/null || { echo "skipped: there is no cmake"; exit 77; }
    cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(detcore 0.1 REQUIRED CONFIG)
add_executable(minimal minimal.c)
target_link_libraries(minimal PRIVATE detcore::detcore)
END
    cmake -S . -B . -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release >cmake.log ||
      { cat cmake.log; exit 1; }
    cmake --build . >cmake.log || { cat cmake.log; exit 1; }
    ;;
esac

./minimal
"$prefix/bin/det" metrics 1 --csv | grep '^training,100,'
