#!/bin/sh
# Licences and pages lie beside the library. The manual has a page for each command of det and one for the
# library, and nothing in it that man warns of.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"
command -v mandoc >/dev/null || { echo "skipped: there is no mandoc"; exit 77; }

for file in LICENSE copyright README.md CHANGELOG.md docs/platforms.md; do
  [ -s "$prefix/share/doc/detcore/$file" ] || fail "there is no share/doc/detcore/$file"
done

# The site is there if `ninja docs` has made it.
if [ -e "$build/docs/html/index.html" ]; then
  [ -s "$prefix/share/doc/detcore/html/index.html" ] || fail "there is no share/doc/detcore/html/index.html"
fi

# Checks the pages of `det WORDS...` and of the commands below it, which --help lists before the options.
check_page() {
  name=$(echo det "$@" | tr ' ' -)
  page=$prefix/share/man/man1/$name.1
  [ -s "$page" ] || fail "there is no $name(1)"
  for section in SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' EXAMPLES; do
    grep -q "^.SH \"$section\"" "$page" || fail "$name(1) has no $section"
  done
  "$prefix/bin/det" "$@" --help | sed -n 's/^  \(-[-a-z, ]*[a-z]\).*/\1/p' | sed 's/-/\\\\-/g' | while read -r option; do
    grep -q "^.fB$option" "$page" || fail "$name(1) does not have the option $option"
  done
  for command in $("$prefix/bin/det" "$@" --help |
    sed -n '/^Usage:/,/^Options:/{/^Arguments:/,/^$/!s/^  \([a-z_-]*\)  .*/\1/p}'); do
    check_page "$@" "$command"
  done
}

# Neither the environment nor the desktop has a browser: the path is printed.
check_docs() {
  page=$(env -u BROWSER -u DISPLAY -u WAYLAND_DISPLAY "$prefix/bin/det" docs --print platforms)
  case $page in "$prefix"/share/doc/detcore/*platforms*) [ -s "$page" ] ;; *) false ;; esac ||
    fail "det docs does not find the page 'platforms': $page"
}

check_docs
check_page
grep -q 'det_core_init' "$prefix/share/man/man3/libdetcore.3" || fail "libdetcore(3) does not tell of det_core_init()"
for page in "$prefix"/share/man/man?/*; do
  complaints=$(mandoc -T lint -W warning "$page" || :
    if command -v groff >/dev/null; then groff -man -ww -Tutf8 -Kutf8 "$page" 2>&1 >/dev/null; fi)
  [ -z "$complaints" ] || fail "${page##*/}: $complaints"
done
