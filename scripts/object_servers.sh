#!/bin/bash
# Installs the object stores that tests talk to: minio, versitygw, fake-gcs-server, azurite. Does nothing when they are
# up to date. They are installed in .servers, or in the folder that $DETCORE_SERVERS or the argument names. If one cannot
# be installed, the tests that need it are skipped, and the status is 77.
#   object_servers.sh [DIRECTORY]
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/progress.sh
. scripts/progress.sh
servers=$(realpath -m "${1:-${DETCORE_SERVERS:-.servers}}")

azurite=3.35.0    # the last version for Node.js 18
before=2026-09-01 # the packages that Azurite depends on are those of this day

version_of() {
  if [ "$1" = azurite ]; then
    echo $azurite
  else
    cat scripts/object_servers/$1/* scripts/object_servers/stubs/*/*.go | cksum
  fi
}
is_installed() { [ "$(version_of "$1")" = "$(cat "$servers/$1.version" 2>/dev/null)" ]; }

# install NAME COMMAND... The command makes NAME in the folder $built, from where it is moved to its place as a whole.
install() (
  name=$1
  shift
  if is_installed $name; then exit; fi
  built=$(mktemp -d "$servers/building.XXXXXX") || exit
  trap 'rm -rf "$built"' EXIT
  step "installing the object store $name" "$@" || {
    echo "object_servers.sh: $name could not be installed: see above. It needs Go or npm, and a network." >&2
    exit 77
  }
  rm -rf "${servers:?}/$name" && mv "$built/$name" "$servers/$name" && version_of $name >"$servers/$name.version"
)

# From object_servers/NAME, whose go.mod names the version. That fixes the versions it depends on, and Go compares them
# with its public list of checksums.
build() (
  # Go 1.21 and newer fetch the version of Go that a module asks for.
  GOTOOLCHAIN=local go version 2>&1 | grep -Eq 'go1\.(2[1-9]|[3-9][0-9])' || {
    echo "$1 needs Go 1.21 or newer, and this machine has: $(go version 2>&1)" >&2
    exit 1
  }
  cp -r scripts/object_servers "$built/source" && cd "$built/source/$1" || exit
  # GOGC: a compiler that collects less garbage needs a quarter less of the processor.
  GOGC=400 GOFLAGS=-mod=mod CGO_ENABLED=0 GOTOOLCHAIN=auto nice go build -trimpath -ldflags '-s -w' -o "$built/$1" .
)

install_azurite() {
  nice npm install --prefix "$built/azurite" --loglevel=error --no-audit --no-fund --no-package-lock --omit=dev \
    --before=$before azurite@$azurite
}

mkdir -p "$servers"
# It waits for the network while the others are compiled.
DET_STEP_BEHIND=1 install azurite install_azurite &
status=0
for name in versitygw fake-gcs-server minio; do install $name build $name || status=$?; done
wait $! || status=$?
exit $status
