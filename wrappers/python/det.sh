#!/bin/sh
# Starts det of the Python package that was installed together with this file.
self=$0
[ ! -L "$self" ] || self=$(readlink -f "$self")
for det in "${self%/*}"/../lib*/python3*/*-packages/detcore/bin/det "${self%/*}"/../detcore/bin/det; do
  [ ! -x "$det" ] || exec "$det" "$@"
done
echo "det: $self does not see the package detcore from its place; call: python3 -m detcore" >&2
exit 127
