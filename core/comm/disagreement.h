// How errors tell that ranks do not do the same, or no longer take part.
#pragma once

#include <chrono>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/comm/frame.h"

namespace det::comm {

// A rank in a collective; of others the argument is not known.
struct Caller {
  int rank;
  FrameHead head;
  std::string_view argument = {};

  // "gather (call 5)", or "det_checkpoint_download('ID') (allgather, call 5)".
  std::string call(Channel channel) const;
};

// Whether they are in the same collective, of the same call with the same argument.
bool is_same_call(const FrameHead &one, const FrameHead &other);

Error mismatch(const Caller &theirs, const Caller &mine, Channel channel);

// What another rank says of a conflict may not name the argument that this rank gave.
Error with_own_argument(const Error &error, const Caller &mine, Channel channel);

// `elsewhere`: what the silent rank waits in on the other channel, empty for nothing.
Error silence(int peer, const Caller &mine, Channel channel, const std::string &elsewhere,
              std::chrono::milliseconds timeout);

// The host of this rank does not want to wait any longer.
Error stopped(const Caller &mine, Channel channel);

// What a failure of this rank is for the others: to them, one that was stopped is gone.
Code code_for_others(Code code);

// What a collective failed with. Of a rank that is gone, `last_words(error)` may know more.
// `out_of_memory` is copied without any.
template <class LastWords>
Error verdict(const std::exception &failure, const Caller &mine, Channel channel,
              const Error &out_of_memory, const LastWords &last_words) noexcept {
  try {
    if (dynamic_cast<const std::bad_alloc *>(&failure) != nullptr)
      return {Code::no_memory, mine.call(channel) + ": " + out_of_memory.what()};
    const Error error = as_error(failure);
    return error.code == Code::unavailable ? last_words(error) : error;
  } catch (const std::bad_alloc &) {
    return out_of_memory;
  }
}

}  // namespace det::comm
