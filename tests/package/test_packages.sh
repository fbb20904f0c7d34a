#!/bin/bash
# Makes a package of this tree, installs it in a bare root of the same system, and there builds a program with
# it and runs that: test_packages.sh deb|tar. scripts/roots.sh tells what making the root needs.
set -euo pipefail
cd "$(dirname "$0")/../.."

. scripts/roots.sh
roots=$roots/bare # not those that ./test platforms installs into
# shellcheck source=/dev/null
system=$(. /etc/os-release && echo "$ID-$VERSION_ID")
skip() {
  echo "skipped: $*"
  exit 77
}
[ -n "${releases[$system]:-}" ] || skip "packages are tried on ${!releases[*]}, not on $system"
[ "$(id -u)" = 0 ] || skip "only root can make a bare root to try packages in"
use_roots "$@"
kind=$1
# Packages are tried here, not compilers: with the flags of the tests, ccache has what those were compiled to. The
# tools of Debian have a home folder of their own.
export DEB_BUILD_OPTIONS=noautodbgsym DEB_CFLAGS_SET='' DEB_CXXFLAGS_SET='' DEB_CPPFLAGS_SET=''
if command -v ccache >/dev/null; then
  CCACHE_DIR=${CCACHE_DIR:-$(ccache --get-config cache_dir)}
  export CCACHE_DIR
fi
packages=$PWD/build-package/test

# A new root, with compilers and pkg-config besides what every system has.
new_root() {
  local base=$system-compilers
  make_root "$system"
  if [ ! -e "$roots/$base/has-compilers" ]; then
    rm -rf "${roots:?}/$base"
    cp -a "$roots/$system" "$roots/$base"
    mount_root "$base"
    inside "$base" apt-get -qq update
    inside "$base" apt-get -qq install --no-install-recommends g++ pkg-config
    umount --recursive "$roots/$base"/{proc,sys,dev}
    touch "$roots/$base/has-compilers"
  fi
  rm -rf "${roots:?}/$kind"
  cp -a "$roots/$base" "$roots/$kind"
  mount_root "$kind"
}

# Builds and runs the first program of README and looks at its trial, with what SETTINGS find: use SETTINGS
use() {
  cp examples/c/minimal.c "$roots/$kind/tmp/"
  inside "$kind" sh -euc "cd /tmp
    rm -rf home
    export DET_HOME=/tmp/home
    $1
    cc -Wall -Werror minimal.c \$(pkg-config --cflags --libs detcore) -o minimal
    ./minimal
    env --unset LD_LIBRARY_PATH det ls --json | grep '\"id\":1'"
}

# What DET says of a master where none is: ask_master_with DET
ask_master_with() {
  inside "$kind" env DET_MASTER=http://127.0.0.1:1 DET_RETRY_CONFIG='{"total": 0}' "$1" ls 2>&1 || true
}

try_deb() {
  rm -rf "$packages"
  scripts/package.sh deb "$packages" --buildtype=custom -Doptimization=2 -Ddebug=false -Dwerror=true
  lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$packages"/*.changes
  new_root
  cp "$packages"/{detcore,libdetcore0,libdetcore-dev,libdetnn0,libdetnn-dev}_*.deb "$roots/$kind/tmp/"
  inside "$kind" sh -c "apt-get -qq install --no-install-recommends /tmp/*.deb"
  use '[ "$(pkg-config --cflags --libs detcore | xargs)" = -ldetcore ]'
  inside "$kind" sh -euc 'cd /usr/share/doc/detcore/examples/nn
    c++ -std=c++17 digits_cnn.cc $(pkg-config --cflags --libs detnn-cpp) -o /tmp/digits_cnn
    c++ -std=c++17 model.cc $(pkg-config --cflags --libs detnn-cpp) -o /tmp/model
    /tmp/model'
  ask_master_with det | grep "Failed to connect"
  inside "$kind" sh -euc 'test -e /usr/share/man/man1/det-ls.1.gz -a -e /usr/share/doc/detcore/copyright'
}

try_tar() {
  local archive first
  [ "${system%-*}" != debian ] || scripts/debian_sources.sh
  scripts/package.sh tar "$packages" -Doptimization=0
  archive=$(echo "$packages"/detcore-*.tar.gz)
  first=$(sha256sum "$archive")
  find "$packages/bundled" -path '*/docs/*.md' -exec touch {} +
  scripts/package.sh tar "$packages" -Doptimization=0
  [ "$first" = "$(sha256sum "$archive")" ] || fail "the same tree makes another archive"

  new_root
  tar --extract --file="$archive" --directory="$roots/$kind/opt"
  mv "$roots/$kind"/opt/detcore-* "$roots/$kind/opt/detcore"
  use_from /opt/detcore
  mv "$roots/$kind/opt/detcore" "$roots/$kind/srv/another place"
  ln -s "another place" "$roots/$kind/srv/link"
  use_from /srv/link
  ask_master_with /srv/link/bin/det | grep libcurl4
  inside "$kind" apt-get -qq install --no-install-recommends libcurl4
  ask_master_with /srv/link/bin/det | grep "Failed to connect"
}
use_from() {
  use "export PATH=$1/bin:\$PATH PKG_CONFIG_PATH=$1/lib/pkgconfig LD_LIBRARY_PATH=$1/lib"
}

case $kind in
  deb | tar) "try_$kind" ;;
  *) fail "there is no package '$kind'; there are deb and tar" ;;
esac
