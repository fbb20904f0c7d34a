// What travels between two ranks: a fixed head, then as many bytes as the head announces.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/api_call.h"
#include "core/comm/communicator.h"

namespace det::comm {

// Global: all ranks of the job. Local: those of one machine. Each keeps an order of its own.
enum class Channel : uint8_t { global, local };
constexpr Channel other_than(Channel channel) {
  return channel == Channel::global ? Channel::local : Channel::global;
}

enum class FrameKind : uint8_t {
  call,   // a rank takes part in a collective, with its message
  done,   // the answer from above; from below, to a broadcast that wants one
  ready,  // the sender is there for the bulk that was announced
  go,     // everybody is: it comes now
  ask,    // the sender is in this collective and has waited for a while: are you in another one?
  abort,  // the collective failed; the payload says why
  leave   // the sender left the job
};

enum class Collective : uint8_t { gather, allgather, broadcast };

struct FrameHead {
  FrameKind kind = FrameKind::call;
  Channel channel = Channel::global;
  Collective collective = Collective::gather;
  bool is_null = false;
  bool is_bulk = false;       // the payload does not follow here: see Transport::bulk_above()
  bool wants_answer = false;  // of a broadcast: its root wants to know who is still there
  int8_t code = 0;            // of an abort
  ApiCall api = ApiCall::none;
  uint64_t digest = 0;    // of the argument that all ranks give alike: see Call
  uint64_t sequence = 0;  // number of the collective in its channel
  uint64_t size = 0;      // bytes of the payload
};

struct Frame {
  FrameHead head;
  std::string payload;
};

constexpr size_t frame_head_size = 32;

// Into `bytes`, which has room for frame_head_size of them.
void encode_head(const FrameHead &head, char *bytes);
// Throws Code::corrupt for anything that encode_head() does not make.
FrameHead decode_head(std::string_view bytes);

// A list of messages as one payload, in which those that follow their like take no room.
std::string encode_messages(std::span<const Message> messages);
// Throws Code::corrupt unless it is a list of messages, of exactly `count` where that is known.
std::vector<Message> decode_messages(std::string_view payload, std::optional<size_t> count = {});

const char *name_of(Collective collective, Channel channel);

}  // namespace det::comm
