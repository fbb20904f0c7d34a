// Collectives over a transport. They go through a root, the chief, unless any two ranks may talk:
// then short messages of few ranks go straight to everybody.
//
// Each collective has a number and a name in its channel, and every frame carries them, so ranks
// that call different things find out and say what each called. A failure is final: the others are
// told, and every later call gives the same error.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/comm/transport.h"

namespace det {

// The first failure of a job, for all of its channels.
class JobFailure {
 public:
  void note(const Error &error);
  void check() const;

 private:
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  std::optional<Error> first_;
};

class Group {
 public:
  // `members` are ranks of the job, the root first.
  Group(Transport &transport, Channel channel, std::vector<int> members, int rank,
        std::chrono::milliseconds timeout, JobFailure &failure);

  std::optional<std::vector<Message>> gather(const Message &message);
  std::vector<Message> allgather(const Message &message);
  Message broadcast(const Message &message);

  // Tells the others, without waiting for them, that this rank is no longer there.
  void leave() noexcept;

 private:
  template <class Work>
  auto take_part(Collective collective, const Work &work);
  Message send_to_all(const Message &message);
  Message receive_from_root();
  std::vector<Message> collect(const Message &message);
  std::vector<Message> exchange(const Message &message, bool to_all);
  Frame await(int peer, FrameKind kind, Patience &patience);
  void check_strays();
  void send(int peer, FrameKind kind, const Message &message, bool with_payload = true);
  void send_text(int peer, FrameKind kind, const Error &why) noexcept;
  void tell_all(const Error &error) noexcept;
  [[noreturn]] void fail(const Error &error);
  Error last_words(const Error &error);
  bool talks_to(int peer) const;
  void check(int peer, const Frame &frame, FrameKind expected) const;
  bool is_of_this_call(const FrameHead &head) const;
  bool is_bulk(const Message &message) const;
  bool is_root() const { return members_.front() == rank_; }
  bool is_mesh() const { return transport_.any_pair() && members_.size() <= largest_mesh; }
  std::string here() const;

  // Beyond this many ranks the root's two steps beat everybody's message to everybody.
  static constexpr size_t largest_mesh = 8;

  Transport &transport_;
  const Channel channel_;
  const std::vector<int> members_;
  const int rank_;
  const std::chrono::milliseconds timeout_;
  JobFailure &failure_;
  std::mutex mutex_;  // one collective at a time
  Collective collective_ = Collective::gather;
  uint64_t sequence_ = 0;
};

}  // namespace det
