#include "core/comm/frame.h"

#include "core/base/error.h"
#include "core/comm/numbers.h"

namespace det::comm {

namespace {

constexpr uint64_t frame_magic = 0x33746564;  // "det3"
constexpr uint8_t null_flag = 1;
constexpr uint8_t bulk_flag = 2;
constexpr uint8_t answer_flag = 4;
constexpr uint8_t local_flag = 8;
constexpr uint64_t largest_payload = uint64_t{1} << 48U;
constexpr uint64_t null_size = UINT64_MAX;
constexpr uint64_t size_of_a_repeated = UINT64_MAX - 1;

[[noreturn]] void refuse(const char *what) {
  throw Error(Code::corrupt, std::string("receiving from another rank: ") + what +
                                 "; make sure that all ranks use the same release of detcore");
}

}  // namespace

// Four words: magic and the small fields, the call and its argument, the sequence, the size.
void encode_head(const FrameHead &head, char *bytes) {
  const auto small = [](auto value, unsigned shift) {
    return static_cast<uint64_t>(static_cast<uint8_t>(value)) << shift;
  };
  const uint64_t flags = (head.is_null ? null_flag : 0) | (head.is_bulk ? bulk_flag : 0) |
                         (head.wants_answer ? answer_flag : 0) |
                         (head.channel == Channel::local ? local_flag : 0);
  put_number(&bytes[0], frame_magic | small(head.kind, 32) | small(head.collective, 40) |
                            small(flags, 48) | small(head.code, 56));
  put_number(&bytes[8], small(head.api, 0) | head.digest << 8U);
  put_number(&bytes[16], head.sequence);
  put_number(&bytes[24], head.size);
}

FrameHead decode_head(std::string_view bytes) {
  if (bytes.size() < frame_head_size) refuse("a message is cut short");
  const auto word = take_number<uint64_t>(&bytes[0]);
  if ((word & UINT32_MAX) != frame_magic) refuse("this is no message of detcore");
  const auto kind = static_cast<uint8_t>(word >> 32);
  const auto collective = static_cast<uint8_t>(word >> 40);
  const auto flags = static_cast<uint8_t>(word >> 48);
  FrameHead head;
  head.kind = static_cast<FrameKind>(kind);
  head.collective = static_cast<Collective>(collective);
  head.channel = (flags & local_flag) != 0 ? Channel::local : Channel::global;
  head.is_null = (flags & null_flag) != 0;
  head.is_bulk = (flags & bulk_flag) != 0;
  head.wants_answer = (flags & answer_flag) != 0;
  head.code = static_cast<int8_t>(word >> 56);
  const auto call = take_number<uint64_t>(&bytes[8]);
  head.api = static_cast<ApiCall>(call);
  head.digest = call >> 8U;
  head.sequence = take_number<uint64_t>(&bytes[16]);
  head.size = take_number<uint64_t>(&bytes[24]);
  if (kind > static_cast<uint8_t>(FrameKind::leave) ||
      collective > static_cast<uint8_t>(Collective::broadcast) ||
      flags > (null_flag | bulk_flag | answer_flag | local_flag) || head.api > last_api_call ||
      head.size > largest_payload || (head.is_null && head.size != 0))
    refuse("a message makes no sense");
  return head;
}

// Their number, the size of each, and the bytes of each.
std::string encode_messages(std::span<const Message> messages) {
  const auto is_repeated = [&](size_t i) {
    return i > 0 && messages[i] && messages[i] == messages[i - 1];
  };
  size_t size = 8 * (messages.size() + 1);
  std::string payload(size, '\0');
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i] && !is_repeated(i)) size += messages[i]->size();
  payload.reserve(size);
  put_number(&payload[0], uint64_t{messages.size()});
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool repeated = is_repeated(i);
    const uint64_t own_size = messages[i] ? messages[i]->size() : null_size;
    put_number(&payload[8 * (i + 1)], repeated ? size_of_a_repeated : own_size);
    if (messages[i] && !repeated) payload += *messages[i];
  }
  return payload;
}

std::vector<Message> decode_messages(std::string_view payload, std::optional<size_t> expected) {
  if (payload.size() < 8) refuse("a list of messages is cut short");
  const auto count = take_number<uint64_t>(&payload[0]);
  if (payload.size() / 8 - 1 < count) refuse("a list of messages is cut short");
  if (expected && count != *expected) refuse("a list has more messages or less than ranks");
  std::vector<Message> messages(count);
  size_t at = 8 * (count + 1);
  for (size_t i = 0; i < count; ++i) {
    const auto size = take_number<uint64_t>(&payload[8 * (i + 1)]);
    if (size == null_size) continue;
    if (size == size_of_a_repeated) {
      if (i == 0 || !messages[i - 1]) refuse("a list of messages repeats a missing one");
      messages[i] = messages[i - 1];
      continue;
    }
    if (size > payload.size() - at) refuse("a list of messages is cut short");
    messages[i] = payload.substr(at, size);
    at += size;
  }
  if (at != payload.size()) refuse("a list of messages is too long");
  return messages;
}

const char *name_of(Collective collective, Channel channel) {
  const bool local = channel == Channel::local;
  switch (collective) {
    case Collective::gather:
      return local ? "gather_local" : "gather";
    case Collective::allgather:
      return local ? "allgather_local" : "allgather";
    case Collective::broadcast:
      break;
  }
  return local ? "broadcast_local" : "broadcast";
}

}  // namespace det::comm
