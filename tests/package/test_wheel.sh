#!/bin/bash
# Makes a wheel of this tree, installs it in a root of another system that has Python and nothing else, and
# trains with it there. scripts/roots.sh tells what making the root needs.
set -euo pipefail
cd "$(dirname "$0")/../.."

. scripts/roots.sh
roots=$roots/bare
other=debian-13
if [ "$(id -u)" != 0 ]; then
  echo "skipped: only root can make a bare root to try the wheel in"
  exit 77
fi
use_roots "$@"
packages=$PWD/build-package/test-wheel

rm -rf "$packages"
# Warnings are errors, so that ccache has what the tests were compiled to.
scripts/wheel.sh "$packages" -Dwerror=true
wheel=$(echo "$packages"/detcore-*-py3-none-manylinux_*.whl)
[ -e "$wheel" ] || fail "$packages has no wheel for every Python 3 and many systems"

make_root $other
if [ ! -e "$roots/$other-python/has-python" ]; then
  rm -rf "$roots/$other-python"
  cp -a "$roots/$other" "$roots/$other-python"
  mount_root $other-python
  inside $other-python apt-get -qq update
  inside $other-python apt-get -qq install --no-install-recommends python3-venv
  umount --recursive "$roots/$other-python"/{proc,sys,dev}
  touch "$roots/$other-python/has-python"
fi
rm -rf "$roots/wheel"
cp -a "$roots/$other-python" "$roots/wheel"
mount_root wheel
cp "$wheel" tests/package/train.py "$roots/wheel/tmp/"

inside wheel sh -euc '
  if command -v cc; then exit 1; fi
  cd /tmp
  export DET_HOME=/tmp/home PATH=/tmp/venv/bin:$PATH
  python3 -m venv venv
  pip install --quiet --no-index detcore-*.whl
  python train.py
  det ls --json | grep "\"id\":1"
  DET_MASTER=http://127.0.0.1:1 DET_RETRY_CONFIG="{\"total\": 0}" det ls 2>&1 | grep "Failed to connect"
  if det plot 1 loss -o loss.png 2>said; then exit 1; fi
  grep "the Python package leaves it out" said
  printf "import determined as det\nwith det.core.init(): pass\n" >script.py
  printf "name: script\nentrypoint: python script.py\nsearcher: {name: single, metric: x, max_length: 1}\n" >script.yaml
  det run script.yaml
  ln -s /tmp/venv/bin/det /usr/bin/det-of-wheel
  [ "$(det-of-wheel --version)" = "$(python -m detcore --version)" ]
  pip uninstall --quiet --yes detcore
  [ ! -e venv/bin/det ] && [ -z "$(ls -d venv/lib/python3*/site-packages/detcore*)" ]'
