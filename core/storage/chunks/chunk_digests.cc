#include "core/storage/chunks/chunk_digests.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace det::storage {

#ifdef __x86_64__
namespace {

#define DET_SHA __attribute__((target("sha,sse4.1"), always_inline)) inline

constexpr size_t block_size = 64;

// The constants of FIPS 180-4.
alignas(16) constexpr std::array<uint32_t, 64> round_constants{
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The eight words of a hash in the order that the instructions want, as they are and as they were
// before this block, and 16 words of the block's schedule.
struct Lane {
  __m128i abef, cdgh;
  __m128i abef_before{}, cdgh_before{};
  __m128i words[4]{};
};

DET_SHA void begin_block(Lane &lane, const unsigned char *block) {
  const __m128i swapped = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (int i = 0; i < 4; ++i)
    lane.words[i] =
        _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i *>(block) + i), swapped);
  lane.abef_before = lane.abef;
  lane.cdgh_before = lane.cdgh;
}

// With words[i], which then are those of 16 rounds later, where there are any.
template <int i, bool is_last>
DET_SHA void four_rounds(Lane &lane, __m128i constants) {
  __m128i &words = lane.words[i];
  const __m128i before = lane.words[(i + 3) % 4];
  const __m128i sums = _mm_add_epi32(words, constants);
  lane.cdgh = _mm_sha256rnds2_epu32(lane.cdgh, lane.abef, sums);
  lane.abef = _mm_sha256rnds2_epu32(lane.abef, lane.cdgh, _mm_shuffle_epi32(sums, 0x0e));
  if constexpr (!is_last)
    words = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(words, lane.words[(i + 1) % 4]),
                                               _mm_alignr_epi8(before, lane.words[(i + 2) % 4], 4)),
                                 before);
}

template <bool is_last, class... Lanes>
DET_SHA void sixteen_rounds(const __m128i *constants, Lanes &...lanes) {
  (four_rounds<0, is_last>(lanes, constants[0]), ...);
  (four_rounds<1, is_last>(lanes, constants[1]), ...);
  (four_rounds<2, is_last>(lanes, constants[2]), ...);
  (four_rounds<3, is_last>(lanes, constants[3]), ...);
}

DET_SHA void end_block(Lane &lane) {
  lane.abef = _mm_add_epi32(lane.abef, lane.abef_before);
  lane.cdgh = _mm_add_epi32(lane.cdgh, lane.cdgh_before);
}

template <class... Lanes>
DET_SHA void finish_block(Lanes &...lanes) {
  const auto *constants = reinterpret_cast<const __m128i *>(round_constants.data());
  for (int i = 0; i < 12; i += 4) sixteen_rounds<false>(constants + i, lanes...);
  sixteen_rounds<true>(constants + 12, lanes...);
  (end_block(lanes), ...);
}

// A piece on its way: its whole blocks, then its rest with its length.
class Message {
 public:
  explicit Message(std::string_view piece)
      : at_(reinterpret_cast<const unsigned char *>(piece.data())),
        blocks_(piece.size() / block_size) {
    const size_t rest = piece.size() % block_size;
    if (rest > 0) std::memcpy(end_.data(), at_ + blocks_ * block_size, rest);
    end_[rest] = 0x80;
    end_blocks_ = rest + 1 + sizeof(uint64_t) > block_size ? 2 : 1;
    uint64_t bits = uint64_t{8} * piece.size();
    for (size_t i = end_blocks_ * block_size; bits > 0; bits >>= 8)
      end_[--i] = static_cast<unsigned char>(bits);
    pass(0);
  }
  Message(const Message &) = delete;
  Message &operator=(const Message &) = delete;

  size_t blocks() const { return blocks_; }  // that come next, one behind the other; 0: it is done
  const unsigned char *at() const { return at_; }
  void pass(size_t count) {
    at_ += count * block_size;
    blocks_ -= count;
    if (blocks_ > 0) return;
    at_ = end_.data();
    blocks_ = std::exchange(end_blocks_, 0);
  }

  Lane lane{_mm_set_epi32(0x6a09e667, static_cast<int>(0xbb67ae85), 0x510e527f,
                          static_cast<int>(0x9b05688c)),
            _mm_set_epi32(0x3c6ef372, static_cast<int>(0xa54ff53a), 0x1f83d9ab, 0x5be0cd19)};

 private:
  const unsigned char *at_;
  size_t blocks_;
  std::array<unsigned char, 2 * block_size> end_{};
  size_t end_blocks_;
};

__attribute__((target("sha,sse4.1"))) void add_blocks(Message &message) {
  Lane lane = message.lane;
  const size_t count = message.blocks();
  for (size_t i = 0; i < count; ++i) {
    begin_block(lane, message.at() + i * block_size);
    finish_block(lane);
  }
  message.lane = lane;
  message.pass(count);
}

// A round waits for the one before it. Meanwhile the processor does one of the other message.
__attribute__((target("sha,sse4.1"))) void add_blocks(Message &one, Message &other) {
  Lane lane = one.lane, other_lane = other.lane;
  const size_t count = std::min(one.blocks(), other.blocks());
  for (size_t i = 0; i < count; ++i) {
    begin_block(lane, one.at() + i * block_size);
    begin_block(other_lane, other.at() + i * block_size);
    finish_block(lane, other_lane);
  }
  one.lane = lane;
  other.lane = other_lane;
  one.pass(count);
  other.pass(count);
}

#undef DET_SHA

Sha256 digest_of(const Lane &lane) {
  std::array<uint32_t, 4> abef{}, cdgh{};
  std::memcpy(abef.data(), &lane.abef, sizeof lane.abef);
  std::memcpy(cdgh.data(), &lane.cdgh, sizeof lane.cdgh);
  Sha256 digest{};
  size_t at = 0;
  for (const uint32_t word :
       {abef[3], abef[2], cdgh[3], cdgh[2], abef[1], abef[0], cdgh[1], cdgh[0]})
    for (int shift = 24; shift >= 0; shift -= 8)
      digest[at++] = static_cast<unsigned char>(word >> shift);
  return digest;
}

std::vector<Sha256> digests_by_instruction(const std::vector<std::string_view> &pieces) {
  std::deque<Message> messages;  // where they are made they stay
  for (const std::string_view piece : pieces) messages.emplace_back(piece);
  Message *one = nullptr, *other = nullptr;
  auto next = messages.begin();
  const auto refill = [&](Message *&message) {
    if (message != nullptr && message->blocks() == 0) message = nullptr;
    if (message == nullptr && next != messages.end()) message = &*next++;
  };
  for (;;) {
    refill(one);
    refill(other);
    if (one == nullptr) std::swap(one, other);
    if (one == nullptr) break;
    if (other != nullptr) add_blocks(*one, *other);
    else add_blocks(*one);
  }
  std::vector<Sha256> digests;
  for (const Message &message : messages) digests.push_back(digest_of(message.lane));
  return digests;
}

bool has_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
         (b & bit_SHA) != 0;
}

}  // namespace
#endif

std::vector<Sha256> digests_of(const std::vector<std::string_view> &pieces) {
#ifdef __x86_64__
  static const bool has = has_instructions();
  if (has) return digests_by_instruction(pieces);
#endif
  std::vector<Sha256> digests;
  for (const std::string_view piece : pieces) digests.push_back(sha256(piece));
  return digests;
}

}  // namespace det::storage
