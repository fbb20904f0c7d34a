#!/bin/bash
# Installs the object stores that tests talk to: minio, versitygw, fake-gcs-server, azurite. Does nothing where that is
# done. They go to .servers, or to the folder that $DETCORE_SERVERS or the argument names. What cannot be installed
# here is no failure: tests that need it are skipped, and say so.
#   object_servers.sh [DIRECTORY]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
servers=$(realpath -m "${1:-${DETCORE_SERVERS:-.servers}}")

# MinIO's releases are no versions to Go: this is the last one, by its commit.
modules="github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c
  github.com/versity/versitygw/cmd/versitygw@v1.8.0
  github.com/fsouza/fake-gcs-server@v1.56.1"
azurite=3.35.0 # the last that Node.js 18 runs
before=2026-09-01 # what Azurite depends on is that of this day

fail() {
  echo "object_servers.sh: $*" >&2
  exit 77
}

# Runs a command that puts NAME into the folder $built, which then takes its place whole:
# install NAME VERSION COMMAND...
install() (
  name=$1 version=$2
  shift 2
  if [ "$version" = "$(cat "$servers/$name.version" 2>/dev/null)" ]; then exit; fi
  echo "object_servers.sh: installing $name"
  built=$(mktemp -d "$servers/building.XXXXXX") || exit
  trap 'rm -rf "$built"' EXIT
  "$@" >"$built/log" 2>&1 || {
    tail -n 5 "$built/log" >&2
    fail "$name cannot be installed: see above; a network is needed"
  }
  rm -rf "${servers:?}/$name" && mv "$built/$name" "$servers/$name" && echo "$version" >"$servers/$name.version"
)

# GOTOOLCHAIN: a Go from 1.21 on fetches the one that a module asks for.
build() {
  command -v go >/dev/null || fail "$1 is built by Go 1.21 or newer; on Debian and Ubuntu: golang-go"
  GOBIN=$built GOFLAGS='' CGO_ENABLED=0 GOTOOLCHAIN=auto nice go install -trimpath -ldflags '-s -w' "$1"
}

install_azurite() {
  command -v npm >/dev/null || fail "azurite is installed by npm; on Debian and Ubuntu: npm"
  nice npm install --prefix "$built/azurite" --loglevel=error --no-audit --no-fund --no-package-lock --omit=dev \
    --before=$before azurite@$azurite
}

mkdir -p "$servers"
install azurite $azurite install_azurite & # waits for the network
status=0
for module in $modules; do
  name=${module%@*}
  install "${name##*/}" "$module" build "$module" || status=$?
done
wait $! || status=$?
exit $status
