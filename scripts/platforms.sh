#!/bin/bash
# Builds and tests this tree on other distributions, each in a root of its own: platforms.sh [NAME...].
# Then builds the bundled library on the oldest of them, and uses it on every one. Needs to be root, and
# debootstrap. The roots stay in DET_ROOTS for the next time; what of subprojects/ is unpacked goes along.
set -euo pipefail
cd "$(dirname "$0")/.."

roots=${DET_ROOTS:-/var/tmp/detcore-roots}
oldest=ubuntu-22.04
debian=http://deb.debian.org/debian
ubuntu=http://archive.ubuntu.com/ubuntu
declare -A mirrors=([debian-12]="bookworm $debian" [debian-13]="trixie $debian"
  [ubuntu-22.04]="jammy $ubuntu" [ubuntu-24.04]="noble $ubuntu")
suites="base config storage engine http capi cli abi examples"

fail() {
  echo "platforms: $*" >&2
  exit 1
}

[ "${1:-}" != --help ] || { echo "platforms.sh [NAME...]: of ${!mirrors[*]}"; exit; }
[ $# -gt 0 ] || set -- $oldest ubuntu-24.04 debian-12 debian-13
for name; do [ -n "${mirrors[$name]:-}" ] || fail "no platform '$name'; there are ${!mirrors[*]}"; done
[ "$(id -u)" = 0 ] || fail "only root can make a root of another distribution"
command -v debootstrap >/dev/null || fail "debootstrap is needed"
# What is mounted for a root is gone at the end.
if [ -z "${DET_ROOTS_UNSHARED:-}" ]; then DET_ROOTS_UNSHARED=1 exec unshare --mount "$0" "$@"; fi

# Runs a command in a root: inside NAME COMMAND...
inside() {
  local root=$roots/$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    chroot "$root" "$@" </dev/null
}

prepare() {
  local name=$1 root=$roots/$1 suite mirror place scripts=/usr/share/debootstrap/scripts script=()
  read -r suite mirror <<<"${mirrors[$name]}"
  if [ ! -e "$root/root-is-whole" ]; then
    echo "== $name: making $root"
    rm -rf "$root"
    mkdir -p "$roots"
    # An older debootstrap does not know the newer names; those of Ubuntu are made alike.
    [ -e "$scripts/$suite" ] || script=("$scripts/jammy")
    # Signatures are checked where the keys of that distribution are installed.
    [ "$mirror" = $debian ] || [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || script=(--no-check-gpg "${script[@]}")
    make_root "$suite" "$root" "$mirror" "${script[@]}" || fail "$name: see $roots/$name.log"
    touch "$root/root-is-whole"
  fi
  for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/src/subprojects"
  git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar x -C "$root/src"
  for place in subprojects/*/; do cp -r "$place" "$root/src/subprojects/"; done
}

# make_root SUITE ROOT MIRROR [--no-check-gpg] [SCRIPT]
make_root() {
  local suite=$1 root=$2 mirror=$3 options=() components=main update
  shift 3
  if [ "${1:-}" = --no-check-gpg ]; then options=("$1"); shift; fi
  [ "$mirror" = $debian ] || components=main,universe
  debootstrap --variant=minbase --components=$components "${options[@]}" "$suite" "$root" "$mirror" "$@" \
    >"$root.log" 2>&1 || return 1
  for update in "" -updates; do echo "deb $mirror $suite$update ${components/,/ }"; done >"$root/etc/apt/sources.list"
}

build_and_test() {
  local name=$1
  echo "== $name: ./run"
  inside "$name" sh -c "cd src && ./run" || fail "$name: ./run"
  echo "== $name: tests of $suites"
  inside "$name" sh -c "cd src && apt-get -qq install --no-install-recommends libcmocka-dev nghttp2-server &&
    meson configure build -Dwerror=true -Ddocs=disabled && ninja -C build &&
    meson test -C build --no-rebuild --timeout-multiplier 10 $(printf -- '--suite %s ' $suites)" ||
    fail "$name: tests"
}

# The library of $oldest, with an example that it brings: bundled NAME...
bundled() {
  local name
  echo "== $oldest: the bundled library"
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
