#include "core/search/random.h"

#include <algorithm>
#include <bit>

#include "core/base/json.h"
#include "core/base/uuid.h"

namespace det::search {

namespace {

uint32_t twist(uint32_t high, uint32_t low) {
  const uint32_t mixed = (high & 0x80000000U) | (low & 0x7fffffffU);
  return (mixed >> 1U) ^ ((low & 1U) != 0 ? 0x9908b0dfU : 0U);
}

}  // namespace

RandomState::RandomState(uint32_t seed) {
  for (size_t i = 0; i < words; ++i) {
    key_[i] = seed;
    seed = 1812433253U * (seed ^ (seed >> 30U)) + static_cast<uint32_t>(i) + 1;
  }
}

void RandomState::refill() {
  constexpr size_t shift = 397;
  for (size_t i = 0; i < words; ++i)
    key_[i] = key_[(i + shift) % words] ^ twist(key_[i], key_[(i + 1) % words]);
  position_ = 0;
}

uint32_t RandomState::u32() {
  if (position_ == words) refill();
  uint32_t word = key_[position_++];
  word ^= word >> 11U;
  word ^= (word << 7U) & 0x9d2c5680U;
  word ^= (word << 15U) & 0xefc60000U;
  return word ^ (word >> 18U);
}

uint64_t RandomState::u64() {
  const uint64_t high = u32();
  return high << 32U | u32();
}

uint64_t RandomState::bounded(uint64_t limit) {
  if (limit == 0) return 0;
  const uint64_t mask = ~uint64_t{0} >> std::countl_zero(limit);
  uint64_t value = 0;
  do value = (limit > UINT32_MAX ? u64() : u32()) & mask;
  while (value > limit);
  return value;
}

uint64_t RandomState::below(uint64_t count) { return bounded(count - 1); }

double RandomState::unit() {
  const double high = u32() >> 5U;
  const double low = u32() >> 6U;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double RandomState::uniform(double low, double high) { return low + (high - low) * unit(); }

std::vector<unsigned char> RandomState::bytes(size_t n) {
  std::vector<unsigned char> drawn(n);
  uint32_t word = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i % 4 == 0) word = u32();
    drawn[i] = static_cast<unsigned char>(word >> (8 * (i % 4)));
  }
  return drawn;
}

std::string RandomState::request_id() {
  std::array<unsigned char, 16> id;
  std::ranges::copy(bytes(id.size()), id.begin());
  return uuid_of(id);
}

int64_t RandomState::trial_seed() { return static_cast<int64_t>(bounded(0x7fffffffU)); }

Json RandomState::snapshot() const { return {{"key", key_}, {"pos", position_}}; }

void RandomState::restore(const Json &snapshot) {
  key_ = snapshot.at("key").get<std::array<uint32_t, words>>();
  position_ = std::min(snapshot.at("pos").get<size_t>(), words);
}

}  // namespace det::search
