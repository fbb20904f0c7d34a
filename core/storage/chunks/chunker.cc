#include "core/storage/chunks/chunker.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace det::storage {

namespace {

// A random number for each byte, always the same ones: where files are cut depends on them, and
// other numbers would find nothing of what is stored.
constexpr std::array<uint64_t, 256> make_gear() {
  std::array<uint64_t, 256> gear{};
  uint64_t state = 0;
  for (uint64_t &value : gear) {  // SplitMix64
    state += 0x9E3779B97F4A7C15;
    value = state;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    value ^= value >> 31;
  }
  return gear;
}

constexpr std::array<uint64_t, 256> gear = make_gear();

// The topmost bits have seen the last 64 bytes.
constexpr uint64_t top_bits(int count) { return ~uint64_t{0} << (64 - count); }

// Cuts are rarer before the normal length and more frequent behind it, which keeps lengths near it.
constexpr uint64_t rare = top_bits(20);
constexpr uint64_t frequent = top_bits(16);
static_assert(chunk_normal == size_t{1} << 18);

}  // namespace

size_t chunk_length(const char *bytes, size_t size) {
  if (size <= chunk_least) return size;
  const size_t end = std::min(size, chunk_most);
  const size_t middle = std::min(end, chunk_normal);
  uint64_t hash = 0;
  const auto add = [&](size_t at) {
    hash = (hash << 1) + gear[static_cast<unsigned char>(bytes[at])];
  };
  size_t at = chunk_least - 64;
  while (at < chunk_least) add(at++);
  for (; at < middle; ++at) {
    if ((hash & rare) == 0) return at;
    add(at);
  }
  for (; at < end; ++at) {
    if ((hash & frequent) == 0) return at;
    add(at);
  }
  return end;
}

}  // namespace det::storage
