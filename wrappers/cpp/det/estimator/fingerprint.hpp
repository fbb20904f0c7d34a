// Fingerprints of texts: 64 bits that are the same on every machine. They are FarmHash's
// Fingerprint64, with which tf.feature_column makes hash buckets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

class Fingerprint {
 public:
  explicit Fingerprint(std::string_view text) : text_(text) {}

  [[nodiscard]] uint64_t value() const {
    if (text_.size() <= 16) return of_up_to_16();
    if (text_.size() <= 32) return of_up_to_32();
    if (text_.size() <= 64) return of_up_to_64();
    return of_more();
  }

 private:
  static constexpr uint64_t k0 = 0xc3a5c85c97cb3127, k1 = 0xb492b66fbe98f273,
                            k2 = 0x9ae16a3b2f90404f;
  using Pair = std::pair<uint64_t, uint64_t>;

  // Little-endian, on every machine.
  [[nodiscard]] uint64_t bytes(size_t place, size_t count) const {
    uint64_t value = 0;
    for (size_t i = count; i > 0; --i)
      value = value << 8 | static_cast<unsigned char>(text_[place + i - 1]);
    return value;
  }
  [[nodiscard]] uint64_t word(size_t place) const { return bytes(place, 8); }
  // Counts from the end.
  [[nodiscard]] uint64_t last_word(size_t back) const { return word(text_.size() - back); }

  static uint64_t rotated(uint64_t value, int by) { return value >> by | value << (64 - by); }
  static uint64_t mixed(uint64_t value) { return value ^ value >> 47; }
  static uint64_t combined(uint64_t a, uint64_t b, uint64_t factor) {
    return mixed((b ^ mixed((a ^ b) * factor)) * factor) * factor;
  }
  [[nodiscard]] uint64_t factor() const { return k2 + text_.size() * 2; }

  [[nodiscard]] uint64_t of_up_to_16() const {
    const size_t size = text_.size();
    if (size >= 8) {
      const uint64_t first = word(0) + k2;
      const uint64_t last = last_word(8);
      return combined(rotated(last, 37) * factor() + first, (rotated(first, 25) + last) * factor(),
                      factor());
    }
    if (size >= 4) return combined(size + (bytes(0, 4) << 3), bytes(size - 4, 4), factor());
    if (size == 0) return k2;
    const uint64_t begin = bytes(0, 1) + (bytes(size / 2, 1) << 8);
    const uint64_t end = size + (bytes(size - 1, 1) << 2);
    return mixed(begin * k2 ^ end * k0) * k2;
  }

  [[nodiscard]] uint64_t of_up_to_32() const {
    const uint64_t a = word(0) * k1;
    const uint64_t b = word(8);
    const uint64_t c = last_word(8) * factor();
    return combined(rotated(a + b, 43) + rotated(c, 30) + last_word(16) * k2,
                    a + rotated(b + k2, 18) + c, factor());
  }

  [[nodiscard]] uint64_t of_up_to_64() const {
    const uint64_t a = word(0) * k2;
    const uint64_t b = word(8);
    const uint64_t c = last_word(8) * factor();
    const uint64_t y = rotated(a + b, 43) + rotated(c, 30) + last_word(16) * k2;
    const uint64_t z = combined(y, a + rotated(b + k2, 18) + c, factor());
    const uint64_t e = word(16) * factor();
    const uint64_t f = word(24);
    const uint64_t g = (y + last_word(32)) * factor();
    const uint64_t h = (z + last_word(24)) * factor();
    return combined(rotated(e + f, 43) + rotated(g, 30) + h, e + rotated(f + a, 18) + g, factor());
  }

  [[nodiscard]] Pair of_four_words(size_t place, Pair seeds) const {
    const uint64_t before = seeds.first + word(place);
    const uint64_t sum = before + word(place + 8) + word(place + 16);
    const uint64_t last = word(place + 24);
    return {sum + last, rotated(seeds.second + before + last, 21) + rotated(sum, 44) + before};
  }

  // Blocks of 64 bytes, and then the last 64, which overlap the last whole block.
  [[nodiscard]] uint64_t of_more() const {
    State state{};
    state.y = 81 * k1 + 113;
    state.z = mixed(state.y * k2 + 113) * k2;
    state.x = 81 * k2 + word(0);
    const size_t rest = (text_.size() - 1) % 64;
    for (size_t place = 0; place + 64 < text_.size(); place += 64) add(state, place, k1, 1);
    const uint64_t factor = k1 + ((state.z & 0xff) << 1);
    state.w.first += rest;
    state.v.first += state.w.first;
    state.w.first += state.v.first;
    add(state, text_.size() - 64, factor, 9);
    return combined(combined(state.v.first, state.w.first, factor) + mixed(state.y) * k0 + state.z,
                    combined(state.v.second, state.w.second, factor) + state.x, factor);
  }

  struct State {
    uint64_t x, y, z;
    Pair v, w;
  };
  void add(State &s, size_t place, uint64_t factor, uint64_t weight) const {
    s.x = rotated(s.x + s.y + s.v.first + word(place + 8), 37) * factor;
    s.y = rotated(s.y + s.v.second + word(place + 48), 42) * factor;
    s.x ^= s.w.second * weight;
    s.y += s.v.first * weight + word(place + 40);
    s.z = rotated(s.z + s.w.first, 33) * factor;
    s.v = of_four_words(place, {s.v.second * factor, s.x + s.w.first});
    s.w = of_four_words(place + 32, {s.z + s.w.second, s.y + word(place + 16)});
    std::swap(s.x, s.z);
  }

  std::string_view text_;
};

}  // namespace detail

// Takes any bytes. The hash of an empty text is a constant.
[[nodiscard]] inline uint64_t fingerprint64(std::string_view text) {
  return detail::Fingerprint(text).value();
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
