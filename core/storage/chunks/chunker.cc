#include "core/storage/chunks/chunker.h"

#include <algorithm>
#include <array>
#include <cstddef>
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

// A cut comes before a byte where the hash of the 64 bytes before that, each worth half of the
// next, is at most this: its topmost bits are zero.
constexpr size_t seen = 64;
constexpr uint64_t below_top_bits(int count) { return ~uint64_t{0} >> count; }

// Cuts are rarer before the normal length and more frequent behind it, which keeps lengths near it.
constexpr uint64_t rare = below_top_bits(20);
constexpr uint64_t frequent = below_top_bits(16);
static_assert(chunk_normal == size_t{1} << 18);

uint64_t add(uint64_t hash, char byte) {
  return hash + hash + gear[static_cast<unsigned char>(byte)];
}

uint64_t hash_before(const char *at) {
  uint64_t hash = 0;
  for (const char *byte = at - seen; byte < at; ++byte) hash = add(hash, *byte);
  return hash;
}

const char *next_cut(const char *at, const char *end, uint64_t most) {
  for (uint64_t hash = hash_before(at); at < end && hash > most; ++at) hash = add(hash, *at);
  return at;
}

// As next_cut(), twice as fast: hashes of two stretches do not wait for each other. A pair in which
// there is a cut, and the rest, are gone through once more.
__attribute__((aligned(64))) const char *find_cut(const char *at, const char *end, uint64_t most) {
  constexpr ptrdiff_t stretch = 512;
  for (; end - at >= 2 * stretch; at += 2 * stretch) {
    uint64_t first = hash_before(at), second = hash_before(at + stretch);
    const char *byte = at;
    const auto pass = [&] {
      if (first <= most || second <= most) return false;
      first = add(first, byte[0]);
      second = add(second, byte[stretch]);
      ++byte;
      return true;
    };
    while (byte < at + stretch && pass() && pass() && pass() && pass()) continue;
    if (byte < at + stretch) break;
  }
  return next_cut(at, end, most);
}

}  // namespace

size_t chunk_length(const char *bytes, size_t size) {
  if (size <= chunk_least) return size;
  const char *const end = bytes + std::min(size, chunk_most);
  const char *const middle = bytes + std::min(size, chunk_normal);
  const char *cut = find_cut(bytes + chunk_least, middle, rare);
  if (cut == middle) cut = find_cut(middle, end, frequent);
  return static_cast<size_t>(cut - bytes);
}

}  // namespace det::storage
