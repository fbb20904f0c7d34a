#!/bin/bash
# Makes the Python environments of the tests, .venv, .venv-integrations and .venv-objects, of what
# tests/python/requirements*.txt name; does nothing where that is done. DETCORE_VENV, DETCORE_VENV_INTEGRATIONS and
# DETCORE_VENV_OBJECTS name some that are elsewhere, and are used as they are.
#
# `python_env.sh cuda` makes .venv-cuda, where no CUDA toolkit is found: compiler, headers and libraries, for
# libdetnn-cuda. `python_env.sh torch` makes .venv-torch, of PyTorch 2, for the benchmark of the layers engine.
set -euo pipefail
cd "$(dirname "$0")/.."

# That of the distribution, whose torch the environments see.
python=/usr/bin/python3
[ -x $python ] || python=python3

fail() {
  echo "python_env.sh: $*" >&2
  exit 1
}

# install FOLDER REQUIREMENTS OPTION... The lists are complete; what is used is compiled when it is.
install() {
  "$1/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --requirement "$2" \
    "${@:3}" || fail "$1 lacks some of $2: see pip's message above, and call this again"
}

# make FOLDER REQUIREMENTS [REQUIREMENTS], the latter for every Python
make() {
  local folder=$1 requirements=$2 text
  text=$($python --version && cat "${@:2}")
  if [ "$text" = "$(cat "$folder/made-from.txt" 2>/dev/null)" ]; then return; fi
  echo "python_env.sh: making $folder"
  rm -rf "$folder"
  $python -m venv --system-site-packages "$folder" ||
    fail "$python makes no environment in $folder; on Debian and Ubuntu it needs python3-venv"
  install "$folder" "$requirements"
  [ -z "${3:-}" ] ||
    install "$folder" "$3" --target "$folder/any-python" --platform any --python-version 3.9 --only-binary :all:
  echo "$text" >"$folder/made-from.txt"
}

# Horovod comes as source, for the TensorFlow and the MPI that are there. Where it cannot be compiled its tests
# take a stand-in, and say so.
make_horovod() {
  local python=.venv-integrations/bin/python
  if [ -d .venv-integrations/lib/python3*/site-packages/horovod ]; then return; fi
  if ! $python -c 'import tensorflow' 2>/dev/null; then return; fi
  echo "python_env.sh: compiling Horovod"
  HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 \
    HOROVOD_WITHOUT_GLOO=1 $python -m pip install --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation horovod==0.28.1 ||
    echo "python_env.sh: Horovod was not compiled: see pip's message above" >&2
}

if [ "${1:-}" = cuda ]; then
  $python wrappers/nn/cuda/find_cuda.py . >/dev/null 2>&1 || make .venv-cuda tests/python/requirements-cuda.txt
  exit
fi
if [ "${1:-}" = torch ]; then
  make .venv-torch tests/python/requirements-torch.txt
  exit
fi
[ -n "${DETCORE_VENV:-}" ] || make .venv tests/python/requirements.txt tests/python/requirements-any-python.txt
[ -n "${DETCORE_VENV_INTEGRATIONS:-}" ] || {
  make .venv-integrations tests/python/requirements-integrations.txt
  make_horovod
}
[ -n "${DETCORE_VENV_OBJECTS:-}" ] || make .venv-objects tests/python/requirements-objects.txt
