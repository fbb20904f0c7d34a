#!/bin/sh
# Puts the sources of what -Dbundled=true builds into subprojects/, for where the archives that the wraps name
# cannot be downloaded: from the source packages of this Debian, in the versions that it has.
set -eu
cd "$(dirname "$0")/../subprojects"

is_there() { [ -e "$(sed -n 's/^directory = //p' "$1.wrap")/meson.build" ]; }
if is_there sqlite3 && is_there libyaml && is_there re2 && is_there xxhash && is_there pugixml; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work/lists/partial"
# shellcheck source=/dev/null
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $release main" \
  >"$work/sources.list"
apt() {
  apt-get -qq -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o APT::Sandbox::User=root "$@"
}
apt update
(cd "$work" && apt source sqlite3 libyaml re2 xxhash pugixml >source.txt 2>&1) || { cat "$work/source.txt"; exit 1; }

# What those leave out because it can be made of the rest.
(cd "$work"/sqlite3-*/ && ./configure --quiet && make -s sqlite3.c sqlite3.h) >"$work/sqlite3.txt" 2>&1 ||
  { cat "$work/sqlite3.txt"; exit 1; }
make -s -C "$work"/re2-*/ REBUILD_TABLES=1 re2/perl_groups.cc re2/unicode_casefold.cc re2/unicode_groups.cc

# place WRAP FILE...
place() {
  wrap=$1 folder=$(sed -n 's/^directory = //p' "$1.wrap")
  shift
  rm -rf "$folder"
  mkdir "$folder"
  cp -r "$@" "packagefiles/$wrap/." "$folder/"
}
place sqlite3 "$work"/sqlite3-*/sqlite3.c "$work"/sqlite3-*/sqlite3.h
place libyaml "$work"/libyaml-*/src "$work"/libyaml-*/include "$work"/libyaml-*/License
place re2 "$work"/re2-*/re2 "$work"/re2-*/util "$work"/re2-*/LICENSE
place xxhash "$work"/xxhash-*/*.h "$work"/xxhash-*/LICENSE
place pugixml "$work"/pugixml-*/src "$work"/pugixml-*/LICENSE.md
