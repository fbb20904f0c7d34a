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
#include "core/comm/disagreement.h"
#include "core/comm/job_failure.h"
#include "core/comm/mailboxes.h"
#include "core/comm/transport.h"

namespace det::comm {

class Session;

// The ranks of a channel, as one of them sees them.
struct ChannelMembers {
  // `all`: ranks of the job, the root first.
  ChannelMembers(const Transport &transport, Channel channel, std::vector<int> all, int rank);

  int root() const { return all.front(); }
  bool is_root() const { return root() == rank; }
  int parent() const { return *branch.parent; }
  const std::vector<int> &children() const { return branch.children; }

  const std::vector<int> all;
  const int rank;
  const Branch branch;
  const std::vector<int> others;  // that this one talks to: in a mesh, all others
  const bool is_mesh;
};

// Where a rank may be that is waited for in vain: in the other channel, or still on its way.
class PeerFinder {
 public:
  // The session of the other channel.
  void know(Session &other) { other_ = &other; }
  // Of this machine, ranks of the job by seat. Where a channel has no mailboxes, these ranks see in
  // those of the other one what this rank is in.
  void know_machine(std::vector<int> ranks, Mailboxes *mailboxes);

  // This rank begins a collective, and has ended it.
  void enter(Channel channel, const FrameHead &head) {
    if (mailboxes_ != nullptr) mailboxes_->enter(channel, head);
  }
  void leave(Channel channel, uint64_t turn) {
    if (mailboxes_ != nullptr) mailboxes_->leave_collective(channel, turn);
  }

  // On another machine of several ranks, which may find out there what is wrong, and tell it.
  bool leads_others(int peer) const;
  // What a peer waits in on `channel`, which is the other one.
  std::optional<FrameHead> call_of(int peer, Channel channel) const;

 private:
  Session *other_ = nullptr;
  std::vector<int> machine_;
  Mailboxes *mailboxes_ = nullptr;
};

// Nobody answers a broadcast, so who passes one on asks now and then which of its children are
// still there.
class BroadcastAnswers {
 public:
  // From these, to the broadcast of this number, from now on.
  void ask(uint64_t sequence, const std::vector<int> &children);
  // An answer may come when this rank is in a later collective; false for what is none.
  bool take(int peer, const FrameHead &head);

  std::chrono::steady_clock::duration since_asked() const {
    return std::chrono::steady_clock::now() - asked_at_;
  }
  const std::vector<int> &missing() const { return missing_; }

 private:
  uint64_t asked_ = 0;
  std::chrono::steady_clock::time_point asked_at_ = std::chrono::steady_clock::now();
  std::vector<int> missing_;
};

// The end of a job, as the ranks of a channel tell it to each other.
class LastWords {
 public:
  LastWords(Transport &transport, Channel channel, const ChannelMembers &members)
      : transport_(transport), channel_(channel), members_(members) {}

  // That something failed, once, or that this rank is no longer there. Waits for nobody.
  void tell(FrameHead head, const Error &error) noexcept;
  void leave(FrameHead head) noexcept;

  // Why a peer gave up.
  Error reason_of(int peer, const FrameHead &abort, const Caller &mine) const;
  // Somebody is gone, who may have said more.
  Error look_for(const Error &error, const Caller &mine) const;

 private:
  void send(int peer, FrameHead &head, std::string_view text) noexcept;

  Transport &transport_;
  const Channel channel_;
  const ChannelMembers &members_;
  bool told_ = false;
};

class Session : public FailureListener {
 public:
  Session(Transport &transport, Channel channel, std::vector<int> members, int rank,
          std::chrono::milliseconds timeout, JobFailure &failure);

  // Does the work of one collective: sends and receives with the functions below.
  template <class Work>
  auto take_part(Collective collective, const Call &call, const Work &work) {
    const std::lock_guard guard(mutex_);
    begin(collective, call);
    try {
      failure_.check();  // of any channel
      auto result = work();
      finder_.leave(channel_, head_.sequence);
      return result;
    } catch (const std::exception &e) {
      fail(verdict(e, self(), channel_, out_of_memory_,
                   [this](const Error &error) { return last_words_.look_for(error, self()); }));
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

  void tell(const Error &error) noexcept override;
  // Without waiting for the others: this rank is no longer there.
  void leave() noexcept;

  const ChannelMembers &members() const { return members_; }
  PeerFinder &finder() { return finder_; }
  bool is_bulk(const MessageView &message) const {
    return message && message->size() > bulk_above_;
  }

  // Of a broadcast that is passed on now. True when the children are asked for answers;
  // `must_wait`: and this rank waits for all of them.
  bool asks_for_answers(bool &must_wait);

  // What a peer has called on this channel and this rank has not.
  std::optional<FrameHead> call_waiting(int peer);

 private:
  void begin(Collective collective, const Call &call);
  bool receive(int peer, FrameHead &head, Patience &patience);
  void ask_those_who_wait(int peer);
  void check(int peer, const FrameHead &head, FrameKind expected);
  Error silence_of(int peer);
  Caller self() const { return {members_.rank, head_, argument_}; }
  [[noreturn]] void fail(const Error &error);

  Transport &transport_;
  const Channel channel_;
  const ChannelMembers members_;
  const size_t bulk_above_;
  const std::chrono::milliseconds timeout_, silence_;
  const Error out_of_memory_;  // copied without any
  JobFailure &failure_;
  PeerFinder finder_;

  std::mutex mutex_;  // one collective at a time
  FrameHead head_;    // of this one
  std::string argument_;
  bool has_called_ = false;  // those above know that this rank is in this collective
  std::chrono::steady_clock::time_point ask_at_{};
  BroadcastAnswers answers_;
  LastWords last_words_;
};

}  // namespace det::comm
