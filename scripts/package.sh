#!/bin/bash
# Makes packages of this tree: package.sh deb|tar [FOLDER [MESON-OPTION...]], into build-package or that folder.
#
#   deb   Debian packages for the release of Debian or Ubuntu that this is
#   tar   an archive of the bundled build (docs/platforms.md), which works wherever it is unpacked
#
# The same tree makes the same bytes: dates are that of the last commit, or SOURCE_DATE_EPOCH. DEBFULLNAME
# and DEBEMAIL say who the packages are from, if not the author of that commit.
set -euo pipefail
folder=$(realpath -m "${2:-"$(dirname "$0")/../build-package"}")
cd "$(dirname "$0")/.."
umask 022
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" LC_ALL=C.UTF-8 TZ=UTC
version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

deb() {
  local source=$folder/source maintainer
  maintainer="${DEBFULLNAME:-$(git log -1 --format=%an)} <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
  scripts/copy_tree.sh "$source"
  cp -r packaging/debian packaging/copyright "$source/"
  cd "$source"
  mv copyright debian/
  sed -i "s/@maintainer@/$maintainer/" debian/control
  mkdir debian/source
  echo "3.0 (native)" >debian/source/format
  cat >debian/changelog <<END
detcore ($version) unstable; urgency=medium

  * Version $version. What is new in it is in /usr/share/doc/detcore/changelog.gz.

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
END
  DET_MESON_OPTIONS=$* dpkg-buildpackage --build=binary --no-sign
  ls -l ../*.deb
}

tar_of_bundled() {
  local source=$folder/bundled name
  name=detcore-$version-linux-$(uname -m)
  scripts/copy_tree.sh "$source"
  rm -rf "$folder/install"
  [ -e "$source/build/build.ninja" ] ||
    meson setup "$source/build" "$source" --prefix=/usr/local --libdir=lib -Dbundled=true -Dstrip=true \
      -Dcli=enabled -Dmpi=enabled -Ddocs=disabled -Dexamples=disabled -Dtests=disabled \
      "$@"
  ninja -C "$source/build"
  DESTDIR=$folder/install meson install -C "$source/build" --no-rebuild --quiet
  mv "$folder/install/usr/local" "$folder/install/$name"
  tar --create --directory="$folder/install" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner --format=gnu "$name" | gzip -9n >"$folder/$name.tar.gz"
  ls -l "$folder/$name.tar.gz"
}

case ${1:-} in
  deb) deb "${@:3}" ;;
  tar) tar_of_bundled "${@:3}" ;;
  *)
    echo "usage: package.sh deb|tar [FOLDER [MESON-OPTION...]]" >&2
    exit 2
    ;;
esac
