// Where a file is cut into chunks: at places that its content decides, so that equal stretches of
// two files give equal chunks wherever they lie (FastCDC with a gear hash).
#pragma once

#include <cstddef>

namespace det::storage {

// In bytes. Smaller chunks find more that is equal and cost more files; docs/checkpoints.md says
// what was measured.
inline constexpr size_t chunk_least = size_t{64} << 10;
inline constexpr size_t chunk_normal = size_t{256} << 10;
inline constexpr size_t chunk_most = size_t{1} << 20;

// The length of the chunk that begins at `bytes`. What follows must be there up to `chunk_most`
// bytes, or up to the end of what is to be cut; then it depends on nothing else. 0 for no bytes.
size_t chunk_length(const char *bytes, size_t size);

}  // namespace det::storage
