#!/bin/sh
# Licences and pages lie beside the library. The manual has a page for each command of det and one for the
# library, and nothing in it that man warns of.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"
command -v mandoc >/dev/null || { echo "skipped: there is no mandoc"; exit 77; }

for file in LICENSE copyright README.md CHANGELOG.md docs/platforms.md; do
  [ -s "$prefix/share/doc/detcore/$file" ] || fail "there is no share/doc/detcore/$file"
done

# Pages of `det WORDS...` and of the commands below it, each of which --help lists after two spaces.
check_page() {
  name=$(echo det "$@" | tr ' ' -)
  page=$prefix/share/man/man1/$name.1
  [ -s "$page" ] || fail "there is no $name(1)"
  for option in $("$prefix/bin/det" "$@" --help | grep -o '^  -[-a-z,]*'); do
    grep -q "^.fB$(echo "$option" | sed 's/-/\\\\-/g')" "$page" || fail "$name(1) does not tell of $option"
  done
  for command in $("$prefix/bin/det" "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z_-]*\) .*/\1/p'); do
    check_page "$@" "$command"
  done
}

check_page
grep -q 'det_core_init' "$prefix/share/man/man3/libdetcore.3" || fail "libdetcore(3) does not tell of det_core_init()"
for page in "$prefix"/share/man/man?/*; do
  complaints=$(mandoc -T lint -W warning "$page" || :
    if command -v groff >/dev/null; then groff -man -ww -Tutf8 -Kutf8 "$page" 2>&1 >/dev/null; fi)
  [ -z "$complaints" ] || fail "${page##*/}: $complaints"
done
