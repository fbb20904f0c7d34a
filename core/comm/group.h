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

  std::optional<std::vector<Message>> gather(const MessageView &message);
  std::vector<Message> allgather(const MessageView &message);
  Message broadcast(const MessageView &message);

  // Tells the others, without waiting for them, that this rank is no longer there.
  void leave() noexcept;

 private:
  template <class Work>
  auto take_part(Collective collective, const Work &work);

  std::vector<Message> collect(const MessageView &message);
  void give_to_root(const MessageView &message);
  void send_to_all(FrameKind kind, const MessageView &message);
  Message receive_from_root(FrameKind kind);
  void send_list(const std::vector<Message> &list);
  std::vector<Message> receive_list();
  std::vector<Message> exchange(const MessageView &message, bool to_all);
  void move_bulk(int from, size_t size, const MessageView &message, Message &received, bool to_all,
                 Patience &patience);
  template <class Receive>
  void receive_into(std::string &buffer, const Receive &receive);

  void send(int peer, FrameKind kind, const MessageView &message);
  Frame await(int peer, FrameKind kind, Patience &patience);
  void check_strays();
  void check(int peer, const Frame &frame, FrameKind expected) const;
  bool is_of_this_call(const FrameHead &head) const;

  [[noreturn]] void fail(const Error &error);
  Error last_words(const Error &error);
  void tell_all(const Error &error) noexcept;
  void send_text(int peer, FrameKind kind, const Error &why) noexcept;

  Message copy_of(const MessageView &message);
  bool is_bulk(const MessageView &message) const;
  bool is_root() const { return members_.front() == rank_; }
  bool is_mesh() const { return transport_.any_pair() && members_.size() <= largest_mesh; }
  bool talks_to(int peer) const;
  std::string here() const;

  // Beyond this many ranks the root's two steps beat everybody's message to everybody.
  static constexpr size_t largest_mesh = 8;

  Transport &transport_;
  const Channel channel_;
  const std::vector<int> members_, others_;
  const int rank_;
  const size_t bulk_above_;
  const std::chrono::milliseconds timeout_;
  JobFailure &failure_;
  std::mutex mutex_;  // one collective at a time
  Collective collective_ = Collective::gather;
  uint64_t sequence_ = 0;
  bool told_ = false;  // the others, of a failure
};

}  // namespace det
