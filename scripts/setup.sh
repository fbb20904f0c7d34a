#!/bin/bash
# Installs what this Debian or Ubuntu machine lacks: setup.sh WHAT... Says nothing when nothing is missing.
#
#   run        the compiler, Meson, and the libraries of detcore: for ./run
#   cnn        that, and oneDNN: for ./run cnn
#   python     what makes the Python environments of the tests
#   build      what a build of everything needs
#   test       that, and what the tests of this build need: for ./test
#   format     clang-format
#   clang      clang, its sanitizers and clang-tidy
#   coverage   gcovr
#   package    what makes and tries packages
set -eu
cd "$(dirname "$0")/.."
# shellcheck source=scripts/progress.sh
. scripts/progress.sh

codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME:-}")
packages=
need() { packages="$packages $*"; }

need_run() {
  need build-essential libcli11-dev libcurl4-openssl-dev libpugixml-dev libre2-dev libsqlite3-dev libssl-dev \
    libxxhash-dev libyaml-dev meson ninja-build nlohmann-json3-dev pkg-config python3
}
need_cnn() {
  need_run
  need libdnnl-dev
}
need_python() { need python3 python3-venv; }
need_build() {
  need_cnn
  need ccache libhdf5-dev libopenmpi-dev libpango1.0-dev libsixel-dev libzip-dev
}
need_test() {
  need_build
  need_python
  need abigail-tools cmake doxygen git iproute2 libcmocka-dev libmpich-dev mandoc nghttp2-server openmpi-bin \
    poppler-utils python3-psutil slurm-wlm
  # They make the site of the documentation; older releases have other versions.
  case $codename in bookworm | noble | trixie) need furo python3-breathe python3-myst-parser python3-sphinx ;; esac
  # The package index has torch only for GPUs: gigabytes.
  case $codename in bookworm) need python3-torch ;; esac
  # The languages whose programs the tests train with.
  command -v go >/dev/null || need golang-go
  command -v javac >/dev/null || need default-jdk-headless
  command -v rustc >/dev/null || need rustc
  node=$(readlink -f "$(command -v node)") || need nodejs
  [ -e "${node%/bin/node}/include/node/node_api.h" ] || need libnode-dev
  # It installs the object store that is written for Node.js: see scripts/object_servers.sh.
  command -v npm >/dev/null || need npm
}
# Only some systems offer Clang 14; the parts of ./test that use it are for these.
need_format() {
  case $codename in bookworm | noble | jammy) need clang-format-14 ;; esac
}
need_clang() {
  need_format
  case $codename in bookworm | noble | jammy) need clang-14 clang-tidy-14 ;; esac
  case $codename in bookworm | noble) need libclang-rt-14-dev ;; esac
}
need_coverage() { need gcovr; }
need_package() { need debhelper debootstrap dpkg-dev lintian tcl unicode-data; }

for what in "${@:-build}"; do
  case $what in
    run | cnn | python | build | test | format | clang | coverage | package) "need_$what" ;;
    *)
      echo "setup.sh: unknown set of packages '$what'; see the first lines of scripts/setup.sh" >&2
      exit 2
      ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is not Debian or Ubuntu. Install these packages, under the names of your system:" \
    $packages >&2
  exit 0
fi

# shellcheck disable=SC2086
installed=$(dpkg-query --show --showformat='${db:Status-Abbrev} ${Package}\n' $packages 2>/dev/null |
  sed -n 's/^ii *//p') || true
missing=()
for package in $(printf '%s\n' $packages | sort -u); do
  echo "$installed" | grep -qx "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null; then
  as_root=(sudo -E)
  sudo -n true 2>/dev/null || sudo true # asks for the password before output is hidden
else
  echo "setup.sh: packages are missing. As root, run: apt-get install ${missing[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# An update that fails may have been for other packages; its messages explain why these are not found.
install() {
  "${as_root[@]}" apt-get -q update || true
  "${as_root[@]}" apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends "${missing[@]}"
}
plural=s
[ ${#missing[@]} != 1 ] || plural=
step "installing ${#missing[@]} package$plural and dependencies" install || {
  echo "setup.sh: packages could not be installed: see apt-get's message above. Mend that, or install them yourself:" >&2
  echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
  exit 1
}
