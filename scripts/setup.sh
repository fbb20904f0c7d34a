#!/bin/sh
# Installs what this Debian or Ubuntu machine lacks: `setup.sh build` for building, `setup.sh test` for
# most of what ./test does, `setup.sh coverage` or `setup.sh package` for that and for those parts of it.
# Says nothing and asks for nothing when all of it is there.
set -eu

packages="build-essential ccache libcli11-dev libcurl4-openssl-dev libdnnl-dev libhdf5-dev libopenmpi-dev libpango1.0-dev libpugixml-dev
  libre2-dev libsixel-dev libsqlite3-dev libssl-dev libxxhash-dev libyaml-dev libzip-dev meson ninja-build nlohmann-json3-dev pkg-config python3"
if [ "${1:-build}" != build ]; then
  packages="$packages abigail-tools cmake doxygen git iproute2 libcmocka-dev libmpich-dev mandoc nghttp2-server
    openmpi-bin poppler-utils python3-psutil python3-venv slurm-wlm"
  # The parts of ./test that format, analyse and sanitize are for systems that have Clang 14.
  codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
  case $codename in
    bookworm | noble) packages="$packages clang-14 clang-format-14 clang-tidy-14 libclang-rt-14-dev" ;;
    jammy) packages="$packages clang-14 clang-format-14 clang-tidy-14" ;;
  esac
  # What makes the site of the documentation; older releases have other versions of it.
  case $codename in
    bookworm | noble | trixie) packages="$packages furo python3-breathe python3-myst-parser python3-sphinx" ;;
  esac
  # What of Python is not taken from its index: the wheels of torch there are for GPUs, of gigabytes.
  case $codename in bookworm) packages="$packages python3-torch" ;; esac
  # The languages whose programs the tests train with.
  command -v go >/dev/null || packages="$packages golang-go"
  command -v javac >/dev/null || packages="$packages default-jdk-headless"
  command -v rustc >/dev/null || packages="$packages rustc"
  node=$(readlink -f "$(command -v node)") || packages="$packages nodejs"
  [ -e "${node%/bin/node}/include/node/node_api.h" ] || packages="$packages libnode-dev"
  # What installs the object store that is written for Node.js: see scripts/object_servers.sh.
  command -v npm >/dev/null || packages="$packages npm"
fi
case ${1:-build} in
  coverage) packages="$packages gcovr" ;;
  package) packages="$packages debhelper debootstrap dpkg-dev lintian tcl unicode-data" ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; these packages, or what they are called here, are needed:" \
    $packages >&2
  exit 0
fi

# shellcheck disable=SC2086
installed=$(dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' $packages 2>/dev/null |
  sed -n 's/^ii *//p') || true
missing=
for package in $packages; do
  echo "$installed" | grep -qx "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=
elif command -v sudo >/dev/null; then
  as_root="sudo -E"
else
  echo "setup: as root, run: apt-get install$missing" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -qq update
# shellcheck disable=SC2086
$as_root apt-get -qq install --no-install-recommends $missing
