#!/bin/sh
# Runs pytest, which speaks TAP, in an environment of scripts/python_env.sh: run_pytest.sh NAME ARGUMENT...,
# where NAME is venv, venv-integrations or venv-objects.
root=$(cd "$(dirname "$0")/../.." && pwd)
case $1 in
  venv) environment=${DETCORE_VENV:-$root/.venv} ;;
  venv-integrations) environment=${DETCORE_VENV_INTEGRATIONS:-$root/.venv-integrations} ;;
  venv-objects) environment=${DETCORE_VENV_OBJECTS:-$root/.venv-objects} ;;
esac
shift
if [ ! -x "$environment/bin/python" ]; then
  echo "1..0 # SKIP there is no $environment; scripts/python_env.sh makes it"
  exit
fi
unset PYTHONDONTWRITEBYTECODE # what pip left to be compiled is compiled once
exec "$environment/bin/python" -m pytest --tap --rootdir "$root" "$@"
