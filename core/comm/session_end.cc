// How a session ends: what fails on one rank is told to all.
#include <utility>

#include "core/comm/session.h"

namespace det::comm {

namespace {

// Whoever is gone or does not listen must not hold up the one who reports a failure.
constexpr std::chrono::milliseconds to_tell{100};

}  // namespace

void Session::fail(const Error &error) {
  tell_all(error);
  failure_.note(error, this);
  throw Error(error);
}

Error Session::verdict(const std::exception &failure) noexcept {
  try {
    if (dynamic_cast<const std::bad_alloc *>(&failure) != nullptr)
      return {Code::no_memory, here() + ": " + out_of_memory_.what()};
    const Error error = as_error(failure);
    return error.code == Code::unavailable ? last_words(error) : error;
  } catch (const std::bad_alloc &) {
    return out_of_memory_;
  }
}

// A thread that is in a collective finds out, and tells, itself.
void Session::tell(const Error &error) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) tell_all(error);
}

// Who is gone may have said why before, or called something else: now, or where this rank has gone
// past it with a broadcast, which waits for nobody. A later broadcast is neither.
Error Session::last_words(const Error &error) {
  for (const int peer : others_) {
    try {
      FrameHead head;
      Patience none(std::chrono::milliseconds(0));
      while (transport_.receive_head(peer, channel_, head, none))
        if (head.kind == FrameKind::abort) return reason_of(peer, head);
        else if (head.kind == FrameKind::call && head.sequence <= head_.sequence &&
                 !is_same_call(head, head_))
          return mismatch({peer, head}, self(), channel_);
    } catch (const Error &) {
      continue;  // this one said nothing
    }
  }
  return error;
}

Error Session::reason_of(int peer, const FrameHead &abort) {
  Patience brief(to_tell);
  const Error error(code_from(abort.code),
                    transport_.receive_payload(peer, channel_, abort, brief));
  return with_own_argument(error, self(), channel_);
}

void Session::send_text(int peer, FrameKind kind, Code code, std::string_view text) noexcept {
  try {
    FrameHead head = head_of(kind);
    head.code = static_cast<int8_t>(code);
    head.size = text.size();
    Patience brief(to_tell);
    transport_.send(peer, channel_, head, text, brief);
  } catch (const std::exception &) {
    return;
  }
}

void Session::tell_all(const Error &error) noexcept {
  if (std::exchange(told_, true)) return;
  const Code code = code_for_others(error.code);
  for (const int peer : others_) send_text(peer, FrameKind::abort, code, error.what());
}

void Session::leave() noexcept {
  const std::lock_guard guard(mutex_);
  for (const int peer : others_) send_text(peer, FrameKind::leave, Code::unavailable, "");
}

}  // namespace det::comm
