// Collectives over mailboxes. What is too long for them is announced there; then the others read it
// in this rank's memory, or it moves over the transport.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/group.h"
#include "core/comm/job_failure.h"
#include "core/comm/mailboxes.h"

namespace det::comm {

// For those that wait at the mailboxes.
class MailboxListener : public FailureListener {
 public:
  explicit MailboxListener(Mailboxes &mailboxes) : mailboxes_(mailboxes) {}
  void tell(const Error &error) noexcept override { mailboxes_.fail(error); }

 private:
  Mailboxes &mailboxes_;
};

class MailboxGroup {
 public:
  struct Place {
    Mailboxes &mailboxes;
    Transport &transport;
    Channel channel;
    std::vector<int> ranks;     // of the job, by seat
    std::vector<size_t> order;  // seats, in the order of the members; the root first
    std::chrono::milliseconds timeout;
    JobFailure &failure;
    bool has_own_core = true;  // as each rank has
  };
  // `far` takes what is too long; null where the ranks read that in each other's memory.
  MailboxGroup(Place place, Group *far);

  std::optional<std::vector<Message>> gather(const MessageView &message, const Call &call);
  std::vector<Message> allgather(const MessageView &message, const Call &call);
  Message broadcast(const MessageView &message, const Call &call);

 private:
  template <class Work>
  auto take_part(Collective collective, const MessageView &message, const Call &call,
                 const Work &work);
  void begin(Collective collective, const MessageView &message, const Call &call);
  bool meet(const MessageView &message);
  void write(const MessageView &message);
  void wait_for_all();
  Message message_of(size_t seat) const;
  Message copy(const MessageView &message) const;
  std::vector<Message> list(const MessageView &message) const;
  template <class IsOver>
  bool look(const IsOver &is_over);
  template <class IsOver>
  void wait_until(const IsOver &is_over, const std::vector<size_t> &for_seats);
  template <class IsOver>
  void wait_for_result(const IsOver &is_over, const std::vector<size_t> &for_seats);
  void settle() const;
  void look_around(const std::vector<size_t> &for_seats, bool is_late) const;
  void look_at(size_t seat, bool is_late) const;
  void check(size_t seat, const FrameHead &theirs) const;
  Error silence_of(size_t seat) const;
  Error last_words(const Error &error) const;
  Caller self() const { return {place_.ranks[mailboxes_.seat()], head_, argument_}; }
  std::string here() const { return self().call(place_.channel); }
  bool is_root() const { return place_.order.front() == mailboxes_.seat(); }

  const Place place_;
  Mailboxes &mailboxes_;
  Group *const far_;
  std::vector<size_t> others_;
  const Error out_of_memory_;  // copied without any

  std::mutex mutex_;  // one collective at a time
  FrameHead head_;    // of this one
  std::string argument_;
  uint64_t meetings_ = 0;
  bool meets_ = false;      // waits until all have come
  uint64_t all_ended_ = 0;  // what all others have ended, as far as known
  uint32_t pause_ = 0;      // for so many waits there is no use in looking for long
  uint32_t next_pause_;
};

}  // namespace det::comm
