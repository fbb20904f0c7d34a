#!/bin/bash
# Makes a Python package of this tree with the library, det and all that they need in it, for every Python 3 and
# every distribution whose C library is no older than this one's: wheel.sh [FOLDER [MESON-OPTION...]], into
# build-package or that folder. What it needs is in the environment of scripts/python_env.sh.
set -euo pipefail
folder=$(realpath -m "${1:-"$(dirname "$0")/../build-package"}")
cd "$(dirname "$0")/.."
umask 022

scripts/python_env.sh
environment=$(realpath "${DETCORE_VENV:-.venv}")
# The Meson of the system compiles as it did for the tests, so that ccache has it; that of the index is for where
# it is too old.
case $(meson --version) in
  0.[0-5]* | 0.6[0-2].*) PATH=$environment/bin:$PATH ;;
  *) PATH=$PATH:$environment/bin ;;
esac

settings=(-Cbuilddir="$PWD/build-wheel" -Csetup-args=-Doptimization=2)
for option in "${@:2}"; do settings+=("-Csetup-args=$option"); done
rm -rf "$folder/wheel"
"$environment/bin/python" -m build --wheel --no-isolation "${settings[@]}" --outdir "$folder/wheel" wrappers/python
# The dates of what is in it.
export SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
"$environment/bin/python" -m auditwheel repair --strip --wheel-dir "$folder" "$folder"/wheel/*.whl
rm -r "$folder/wheel"
ls -l "$folder"/*.whl
