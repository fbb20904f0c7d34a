#!/bin/sh
# Builds and runs examples/c/minimal.c, one in C++, and one that trains a model, with what pkg-config says,
# without any other library's files.
# shellcheck source=tests/install/prefix.sh
. "${0%/*}/prefix.sh"

for file in "$PKG_CONFIG_LIBDIR"/*.pc; do
  pkg-config --print-errors --exists "$(basename "$file" .pc)" || fail "$file asks for what was not installed"
done
# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -pedantic -Werror "$source/examples/c/minimal.c" \
  $(pkg-config --cflags --libs detcore) -o "$folder/minimal"
LD_LIBRARY_PATH=$libdir "$folder/minimal"
"$prefix/bin/det" metrics 1 --csv | grep '^training,100,'

# shellcheck disable=SC2046
c++ -std=c++17 -Wall -Wextra -pedantic -Werror "$source/examples/cpp/metrics.cc" \
  $(pkg-config --cflags --libs detcore-cpp) -o "$folder/metrics"
LD_LIBRARY_PATH=$libdir "$folder/metrics" | grep '"resident_mib":12'

[ -e "$build/packaging/detnn.pc" ] || exit 0 # not installed then
# shellcheck disable=SC2046
c++ -std=c++17 -Wall -Wextra -pedantic -Werror "$source/examples/nn/model.cc" \
  $(pkg-config --cflags --libs detnn-cpp) -o "$folder/model"
LD_LIBRARY_PATH=$libdir "$folder/model" | grep '^after 500 batches: loss 0.00'
