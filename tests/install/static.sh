#!/bin/sh
# pkg-config --static names every library that the shared one links; without it nobody is asked for those.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"

[ "$(pkg-config --static --libs-only-l detcore | xargs)" = -ldetcore ] || fail "a shared library has private libraries"

(
  unset PKG_CONFIG_LIBDIR
  meson setup "$folder/static" "$source" -Ddefault_library=static -Dcli=disabled -Ddocs=disabled \
    -Dexamples=disabled -Dmpi=disabled -Dtests=disabled
) >"$folder/setup.txt" || { cat "$folder/setup.txt"; exit 1; }
export PKG_CONFIG_LIBDIR="$folder/static/packaging"
[ "$(pkg-config --libs-only-l detcore | xargs)" = -ldetcore ] || fail "private libraries without --static"
named=$(pkg-config --static --libs detcore)
linked=$(readelf -d "$libdir/libdetcore.so" "$libdir/detcore/libdetcore-crypto.so.0" "$libdir/detcore/libdetcore-http.so.0" | sed -n 's/.*(NEEDED).*\[lib\(.*\)\.so.*/\1/p')
for library in $linked; do
  library=${library%-0} # of libyaml, whose name to link is without its version
  # What compilers link by themselves, and the loader.
  case $library in c | gcc_s | ld-linux*) continue ;; esac
  case " $named " in *" -l$library "*) ;; *) fail "pkg-config --static names no -l$library, only $named" ;; esac
done
echo "$linked" | grep -q curl || fail "readelf did not tell what libdetcore.so links"
