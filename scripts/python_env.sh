#!/bin/bash
# Makes the Python environments of the tests from tests/python/requirements*.txt: .venv, .venv-integrations and
# .venv-objects. Does nothing when they are up to date. DETCORE_VENV, DETCORE_VENV_INTEGRATIONS and
# DETCORE_VENV_OBJECTS name environments elsewhere; those are used unchanged.
#
#   python_env.sh cuda    makes .venv-cuda if no CUDA toolkit is found: compiler, headers and libraries for libdetnn-cuda
#   python_env.sh torch   makes .venv-torch with PyTorch 2, for the benchmark of the layers engine
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/progress.sh
. scripts/progress.sh

case ${1:-} in
  '' | cuda | torch) ;;
  *)
    echo "python_env.sh: there is no '$1'; give cuda, torch or nothing" >&2
    exit 2
    ;;
esac

# Several tests and parts may call this at the same time.
exec 9>".venv-${1:-all}.lock"
flock 9

# The distribution's Python: the environments see its torch.
python=/usr/bin/python3
[ -x $python ] || python=python3

fail() {
  echo "python_env.sh: $*" >&2
  exit 1
}

# install FOLDER REQUIREMENTS OPTION... The lists are complete. Modules are compiled when they are first used.
install() {
  "$1/bin/python" -m pip install --progress-bar off --disable-pip-version-check --no-deps --no-compile \
    --requirement "$2" "${@:3}"
}

# fill FOLDER REQUIREMENTS [REQUIREMENTS]
fill() {
  $python -m venv --system-site-packages "$1" || {
    echo "$python cannot make an environment. On Debian and Ubuntu, install python3-venv."
    return 1
  }
  install "$1" "$2" || return
  [ -z "${3:-}" ] ||
    install "$1" "$3" --target "$1/any-python" --platform any --python-version 3.9 --only-binary :all:
}

# make FOLDER REQUIREMENTS [REQUIREMENTS], the latter for every Python
make() {
  local folder=$1 text
  text=$($python --version && cat "${@:2}")
  if [ "$text" = "$(cat "$folder/made-from.txt" 2>/dev/null)" ]; then return; fi
  rm -rf "$folder"
  step "making the Python environment $folder" fill "$@" ||
    fail "$folder could not be made from $2: see pip's message above. When that is mended, call this again."
  echo "$text" >"$folder/made-from.txt"
}

# Horovod comes as source, and is compiled for the TensorFlow and the MPI of this machine. Where that fails its tests
# use a stand-in, and say so.
compile_horovod() {
  HOROVOD_WITH_TENSORFLOW=1 HOROVOD_WITH_MPI=1 HOROVOD_WITHOUT_PYTORCH=1 HOROVOD_WITHOUT_MXNET=1 \
    HOROVOD_WITHOUT_GLOO=1 .venv-integrations/bin/python -m pip install --progress-bar off \
    --disable-pip-version-check --no-deps --no-build-isolation horovod==0.28.1
}
make_horovod() {
  if [ -d .venv-integrations/lib/python3*/site-packages/horovod ]; then return; fi
  if ! .venv-integrations/bin/python -c 'import tensorflow' 2>/dev/null; then return; fi
  step "compiling Horovod" compile_horovod ||
    echo "python_env.sh: Horovod could not be compiled: see pip's message above. Its tests use a stand-in." >&2
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
