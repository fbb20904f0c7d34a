#!/bin/bash
# Builds and tests this tree on other distributions, each in a root of its own: platforms.sh [NAME...].
# Then builds the bundled library on the oldest of them, and uses it on every one. What of subprojects/ is
# unpacked goes along; scripts/roots.sh tells what making the roots needs.
set -euo pipefail
cd "$(dirname "$0")/.."

. scripts/roots.sh
oldest=ubuntu-22.04
suites="base config storage engine http capi cli abi examples"
install_for_tests="apt-get -qq install --no-install-recommends libcmocka-dev nghttp2-server"

[ "${1:-}" != --help ] || { echo "platforms.sh [NAME...]: of ${!releases[*]}"; exit; }
[ $# -gt 0 ] || set -- $oldest ubuntu-24.04 debian-12 debian-13
for name; do [ -n "${releases[$name]:-}" ] || fail "no platform '$name'; there are ${!releases[*]}"; done
use_roots "$@"

prepare() {
  make_root "$1"
  mount_root "$1"
  scripts/copy_tree.sh "$roots/$1/src"
}

build_and_test() {
  local name=$1
  echo "== $name: ./run"
  inside "$name" sh -c "cd src && ./run" || fail "$name: ./run"
  echo "== $name: tests of $suites"
  inside "$name" sh -c "cd src && scripts/setup.sh build && $install_for_tests &&
    meson configure build -Dwerror=true -Ddocs=disabled -Donednn=auto && ninja -C build &&
    meson test -C build --no-rebuild $(printf -- '--suite %s ' $suites)" ||
    fail "$name: tests"
}

# The library of $oldest, with an example that it brings: bundled NAME...
bundled() {
  local name
  echo "== $oldest: the bundled library"
  inside $oldest sh -c "cd src && scripts/setup.sh build && $install_for_tests" || fail "$oldest: setup"
  inside $oldest sh -c "cd src && ls build-bundled/build.ninja >/dev/null 2>&1 ||
    meson setup build-bundled -Dbundled=true -Dwerror=true -Ddocs=disabled -Dmpi=disabled" &&
    inside $oldest sh -c "cd src && ninja -C build-bundled examples/digits tests/abi/test_abi_apart &&
    meson test -C build-bundled --suite abi" || fail "$oldest: bundled"
  for name; do
    echo "== $name: digits with the bundled library of $oldest"
    rm -rf "$roots/$name/bundled"
    mkdir "$roots/$name/bundled"
    cp "$roots/$oldest"/src/{build-bundled/capi/libdetcore.so.0,build-bundled/examples/digits,examples/data/digits.csv} \
      "$roots/$name/bundled/"
    inside "$name" sh -c "cd bundled && export DET_HOME=/bundled/home LD_LIBRARY_PATH=/bundled &&
      ldd libdetcore.so.0 && ./digits digits.csv" || fail "$name: the bundled library"
  done
}

for name; do
  prepare "$name"
  build_and_test "$name"
done
[[ " $* " == *" $oldest "* ]] || prepare $oldest
bundled "$@"
