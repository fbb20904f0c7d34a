# Sourced by the tests in this folder, whose arguments are SOURCE and BUILD: installs into a new place, and
# moves the prefix from there to $prefix. Nothing may hold on to the path that it was made for.
set -eu
source=$1 build=$2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset DET_MASTER DET_TRIAL_ID DET_EXTERNAL_ID LD_LIBRARY_PATH
export DET_HOME="$folder/home"

fail() {
  echo "$*" >&2
  exit 1
}

DESTDIR="$folder/stage" meson install -C "$build" --no-rebuild --quiet
prefix=$(find "$folder/stage" -type d -path '*/include/det')
prefix=${prefix%/include/det}
"$prefix/bin/det" --version || fail "before it is moved, det does not find its library"
mv "$prefix" "$folder/moved"
prefix=$folder/moved
"$prefix/bin/det" --version || fail "once it is moved, det does not find its library"

libdir=$(dirname "$(find "$prefix" -name libdetcore.so)")
# Alone there: what the library was built with need not be installed.
export PKG_CONFIG_LIBDIR="$libdir/pkgconfig"
