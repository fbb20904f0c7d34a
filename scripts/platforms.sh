#!/bin/bash
# Builds and tests this tree on other distributions, each in a root of its own: platforms.sh [NAME...].
# Then builds the bundled library on the oldest of them, and uses it on every one. Needs to be root,
# debootstrap, and the keys of the distributions: DEBIAN_KEYRING and UBUNTU_KEYRING, where they are not
# installed. The roots stay in DET_ROOTS for the next time; what of subprojects/ is unpacked goes along.
set -euo pipefail
cd "$(dirname "$0")/.."

roots=$(realpath -ms "${DET_ROOTS:-build-platforms}")
oldest=ubuntu-22.04
declare -A releases=([debian-12]=bookworm [debian-13]=trixie [ubuntu-22.04]=jammy [ubuntu-24.04]=noble)
suites="base config storage engine http capi cli abi examples"
install_for_tests="apt-get -qq install --no-install-recommends libcmocka-dev nghttp2-server"

fail() {
  echo "platforms: $*" >&2
  exit 1
}

[ "${1:-}" != --help ] || { echo "platforms.sh [NAME...]: of ${!releases[*]}"; exit; }
[ $# -gt 0 ] || set -- $oldest ubuntu-24.04 debian-12 debian-13
for name; do [ -n "${releases[$name]:-}" ] || fail "no platform '$name'; there are ${!releases[*]}"; done
[ "$(id -u)" = 0 ] || fail "only root can make a root of another distribution"
command -v debootstrap >/dev/null || fail "debootstrap is needed"
mkdir -p -m 755 "$roots"
[ -n "$(find "$roots" -maxdepth 0 -type d -user 0 ! -perm /022)" ] ||
  fail "$roots has to be a folder of root that nobody else can write to; DET_ROOTS names another"
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
  local name=$1 root=$roots/$1 place
  [ -e "$root/root-is-whole" ] || make_root "$name"
  for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  mkdir -p "$root/src/subprojects"
  find "$root/src" -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name subprojects -exec rm -rf {} +
  # A file that is deleted, but not yet in a commit, is in both lists.
  { git ls-files -z --cached --others --exclude-standard && git ls-files -z --deleted; } |
    sort -z | uniq -zu | tar --null -T - -c | tar x -C "$root/src"
  for place in subprojects/*/; do cp -r "$place" "$root/src/subprojects/"; done
}

make_root() {
  local name=$1 root=$roots/$1 suite=${releases[$1]} mirror components script keyring update
  case $name in
    debian-*)
      mirror=http://deb.debian.org/debian components=main script=sid
      keyring=${DEBIAN_KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
      ;;
    ubuntu-*)
      mirror=http://archive.ubuntu.com/ubuntu components=main,universe script=jammy
      keyring=${UBUNTU_KEYRING:-/usr/share/keyrings/ubuntu-archive-keyring.gpg}
      ;;
  esac
  [ -e "$keyring" ] ||
    fail "$name: there is no $keyring to check the packages with; install debian-archive-keyring or" \
      "ubuntu-keyring, or name a copy of that file from such a system in DEBIAN_KEYRING or UBUNTU_KEYRING"
  # An older debootstrap does not know the newer names; those of a distribution are made alike.
  script=/usr/share/debootstrap/scripts/$script
  [ ! -e "${script%/*}/$suite" ] || script=${script%/*}/$suite
  echo "== $name: making $root"
  rm -rf "$root"
  debootstrap --variant=minbase --components=$components --include=ca-certificates --force-check-gpg \
    --keyring="$keyring" "$suite" "$root" "$mirror" "$script" >"$root.log" 2>&1 || fail "$name: see $root.log"
  for update in "" -updates; do echo "deb $mirror $suite$update ${components/,/ }"; done >"$root/etc/apt/sources.list"
  touch "$root/root-is-whole"
}

build_and_test() {
  local name=$1
  echo "== $name: ./run"
  inside "$name" sh -c "cd src && ./run" || fail "$name: ./run"
  echo "== $name: tests of $suites"
  inside "$name" sh -c "cd src && $install_for_tests &&
    meson configure build -Dwerror=true -Ddocs=disabled && ninja -C build &&
    meson test -C build --no-rebuild --timeout-multiplier 10 $(printf -- '--suite %s ' $suites)" ||
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
