#!/bin/bash
# Installs the object stores that tests talk to: minio, versitygw, fake-gcs-server, azurite. Does nothing where that is
# done. They go to .servers, or to the folder that $DETCORE_SERVERS or the argument names. What cannot be installed
# here is no failure: tests that need it are skipped, and say so.
#   object_servers.sh [DIRECTORY]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
servers=$(realpath -m "${1:-${DETCORE_SERVERS:-.servers}}")

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
    fail "$name cannot be installed: see above; Go, npm and a network are needed"
  }
  rm -rf "${servers:?}/$name" && mv "$built/$name" "$servers/$name" && echo "$version" >"$servers/$name.version"
)

# From object_servers/NAME, whose go.mod has the version; what a version depends on is fixed by it, and compared with
# Go's public list of checksums.
build() {
  # A Go from 1.21 on fetches the one that a module asks for.
  GOTOOLCHAIN=local go version 2>&1 | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])' || {
    echo "$1 is built by Go 1.21 or newer, and this machine has: $(go version 2>&1)" >&2
    return 1
  }
  cp -r scripts/object_servers "$built/source" && cd "$built/source/$1" || exit
  # GOGC: a compiler that collects less garbage needs a quarter less of the processor.
  GOGC=400 GOFLAGS=-mod=mod CGO_ENABLED=0 GOTOOLCHAIN=auto nice go build -trimpath -ldflags '-s -w' -o "$built/$1" .
}

install_azurite() {
  nice npm install --prefix "$built/azurite" --loglevel=error --no-audit --no-fund --no-package-lock --omit=dev \
    --before=$before azurite@$azurite
}

mkdir -p "$servers"
install azurite $azurite install_azurite & # waits for the network
status=0
for name in versitygw fake-gcs-server minio; do
  version=$(cat scripts/object_servers/$name/* scripts/object_servers/stubs/*/*.go | cksum)
  install $name "$version" build $name || status=$?
done
wait $! || status=$?
exit $status
