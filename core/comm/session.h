// What one rank says to those next to it in the tree of its channel, over a transport, one
// collective at a time.
//
// Each collective has a number and a name in its channel, and is a part of some call of the API.
// Every frame carries all of that, so ranks that call different things find out and say what each
// called. A failure is final: the others are told, on every channel, and every later collective
// gives the same error.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/comm/board.h"
#include "core/comm/disagreement.h"
#include "core/comm/job_failure.h"
#include "core/comm/transport.h"

namespace det::comm {

class Session : public Herald {
 public:
  // `members` are ranks of the job, the root first.
  Session(Transport &transport, Channel channel, std::vector<int> members, int rank,
          std::chrono::milliseconds timeout, JobFailure &failure);

  // A rank that is waited for in vain in the one of two channels may be found in the other. Those
  // of this machine, `ranks` of the job by seat, may have that on a board, where they see this one.
  void know(Session &other);
  void know_machine(std::vector<int> ranks, Board *board);

  // Does the work of one collective: sends and receives with the functions below.
  template <class Work>
  auto take_part(Collective collective, const Call &call, const Work &work) {
    const std::lock_guard guard(mutex_);
    begin(collective, call);
    try {
      failure_.check();  // of any channel
      auto result = work();
      if (board_ != nullptr) board_->leave_collective(channel_, head_.sequence);
      return result;
    } catch (const std::exception &e) {
      fail(verdict(e));
    }
  }

  void send(int peer, FrameKind kind, const MessageView &message, bool wants_answer = false);
  // A question or an answer to one.
  void send_if_there(int peer, FrameKind kind);
  // The head of the next frame of a peer that has something to do with this collective.
  FrameHead await(int peer, FrameKind kind, Patience &patience);
  // The same, unless nothing has come.
  std::optional<FrameHead> look(int peer, FrameKind kind);
  std::string payload_of(int peer, const FrameHead &head, Patience &patience);
  // For a wait in which the others do their part.
  Patience patience() const { return Patience(timeout_); }
  // For one in which a leader may wait as long for others before it comes.
  Patience patience_with_leaders() const;

  // Without waiting for the others: that something failed, or that this rank is no longer there.
  void tell(const Error &error) noexcept override;
  void leave() noexcept;

  const std::vector<int> &members() const { return members_; }
  // All that this one talks to: in a mesh, all others.
  const std::vector<int> &others() const { return others_; }
  int parent() const { return *branch_.parent; }
  const std::vector<int> &children() const { return branch_.children; }
  int root() const { return members_.front(); }
  int rank() const { return rank_; }
  bool is_root() const { return root() == rank_; }
  bool is_mesh() const { return transport_.any_pair() && members_.size() <= largest_mesh; }
  bool is_bulk(const MessageView &message) const {
    return message && message->size() > bulk_above_;
  }
  Channel channel() const { return channel_; }
  Transport &transport() { return transport_; }

  // Nobody answers a broadcast, so who passes one on asks now and then which of its children are
  // still there. True when this one is to ask; `must_wait`: it is also to wait for all answers.
  bool asks_for_answers(bool &must_wait);

 private:
  // Beyond this many ranks the root's two steps beat everybody's message to everybody.
  static constexpr size_t largest_mesh = 8;

  void begin(Collective collective, const Call &call);
  bool receive(int peer, FrameHead &head, Patience &patience);
  bool leads_others(int peer) const;
  void ask_those_who_wait(int peer);
  bool take_answer(int peer, const FrameHead &head);
  void check(int peer, const FrameHead &head, FrameKind expected);
  Error silence_of(int peer);
  std::optional<FrameHead> call_waiting(int peer);
  std::optional<FrameHead> found_elsewhere(int peer);
  FrameHead head_of(FrameKind kind) const;
  Caller self() const { return {rank_, head_, argument_}; }
  Channel other_channel() const {
    return channel_ == Channel::global ? Channel::local : Channel::global;
  }
  std::string here() const { return self().call(channel_); }

  [[noreturn]] void fail(const Error &error);
  Error verdict(const std::exception &failure) noexcept;
  Error last_words(const Error &error);
  Error reason_of(int peer, const FrameHead &abort);
  void tell_all(const Error &error) noexcept;
  void send_text(int peer, FrameKind kind, Code code, std::string_view text) noexcept;

  Transport &transport_;
  const Channel channel_;
  const std::vector<int> members_;
  const int rank_;
  const Branch branch_;
  const std::vector<int> others_;
  const size_t bulk_above_;
  const std::chrono::milliseconds timeout_, silence_;
  const Error out_of_memory_;  // copied without any
  JobFailure &failure_;
  Session *other_session_ = nullptr;
  std::vector<int> machine_;
  Board *board_ = nullptr;  // that this channel is not on

  std::mutex mutex_;  // one collective at a time
  FrameHead head_;    // of this one
  std::string argument_;
  bool has_called_ = false;  // those above know that this rank is in this collective
  std::chrono::steady_clock::time_point ask_at_{};
  bool told_ = false;  // the others, of a failure

  // Of broadcasts that want an answer: the last one, when it was sent, and whom it waits for.
  uint64_t asking_ = 0;
  std::chrono::steady_clock::time_point asked_at_ = std::chrono::steady_clock::now();
  std::vector<int> not_answered_;
};

}  // namespace det::comm
