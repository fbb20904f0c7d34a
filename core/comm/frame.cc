#include "core/comm/frame.h"

#include "core/base/error.h"

namespace det {

namespace {

constexpr uint32_t magic = 0x31746564;  // "det1"
constexpr uint64_t largest_payload = uint64_t{1} << 48U;
constexpr uint64_t null_size = UINT64_MAX;

template <class Integer>
void put(char *at, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

template <class Integer>
Integer take(const char *at) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof value; ++i)
    value |=
        static_cast<Integer>(static_cast<Integer>(static_cast<unsigned char>(at[i])) << (8 * i));
  return value;
}

[[noreturn]] void refuse(const char *what) {
  throw Error(Code::corrupt, std::string("receiving from another rank: ") + what +
                                 "; make sure that all ranks use the same release of detcore");
}

}  // namespace

FrameHeadBytes encode_head(const FrameHead &head) {
  FrameHeadBytes bytes;
  put(&bytes[0], magic);
  bytes[4] = static_cast<char>(head.kind);
  bytes[5] = static_cast<char>(head.collective);
  bytes[6] = static_cast<char>((head.is_null ? 1 : 0) | (head.is_bulk ? 2 : 0));
  bytes[7] = static_cast<char>(head.code);
  put(&bytes[8], head.sequence);
  put(&bytes[16], head.size);
  return bytes;
}

FrameHead decode_head(std::string_view bytes) {
  if (bytes.size() < frame_head_size) refuse("a message is cut short");
  if (take<uint32_t>(&bytes[0]) != magic) refuse("this is no message of detcore");
  const auto kind = static_cast<uint8_t>(bytes[4]);
  const auto collective = static_cast<uint8_t>(bytes[5]);
  const auto flags = static_cast<uint8_t>(bytes[6]);
  FrameHead head;
  head.kind = static_cast<FrameKind>(kind);
  head.collective = static_cast<Collective>(collective);
  head.is_null = (flags & 1U) != 0;
  head.is_bulk = (flags & 2U) != 0;
  head.code = static_cast<int8_t>(bytes[7]);
  head.sequence = take<uint64_t>(&bytes[8]);
  head.size = take<uint64_t>(&bytes[16]);
  if (kind > static_cast<uint8_t>(FrameKind::leave) ||
      collective > static_cast<uint8_t>(Collective::broadcast) || flags > 3 ||
      head.size > largest_payload || (head.is_null && head.size != 0))
    refuse("a message makes no sense");
  return head;
}

std::string encode_messages(const std::vector<Message> &messages) {
  size_t size = 8 * messages.size();
  for (const Message &message : messages) size += message ? message->size() : 0;
  std::string payload(8 * messages.size(), '\0');
  payload.reserve(size);
  for (size_t i = 0; i < messages.size(); ++i) {
    put(&payload[8 * i], messages[i] ? uint64_t{messages[i]->size()} : null_size);
    if (messages[i]) payload += *messages[i];
  }
  return payload;
}

std::vector<Message> decode_messages(std::string_view payload, size_t count) {
  if (payload.size() / 8 < count) refuse("a list of messages is cut short");
  std::vector<Message> messages(count);
  size_t at = 8 * count;
  for (size_t i = 0; i < count; ++i) {
    const auto size = take<uint64_t>(&payload[8 * i]);
    if (size == null_size) continue;
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

}  // namespace det
