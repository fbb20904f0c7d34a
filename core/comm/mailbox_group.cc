#include "core/comm/mailbox_group.h"

#include <sched.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace det::comm {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// What comes soon is there before a core that went to sleep would be awake again. Where that was in
// vain, as on a machine that is busy with others, so many waits sleep sooner; and twice as many
// when it is in vain again.
constexpr std::chrono::microseconds look_for{200};
constexpr uint32_t first_pause = 16, longest_pause = uint32_t{1} << 20U;

// Then only what comes at once is waited for; ranks that share a core let each other run.
constexpr int looks_on_own_core = 200;
constexpr int looks_on_shared_core = 2;

// Few ranks look at each other's mailboxes, which they read anyway; many count who has come.
constexpr size_t most_to_look_at = 7;

// Sleepers look around this often: for ranks that are gone, or in another collective.
constexpr milliseconds nap{50};

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

MailboxGroup::MailboxGroup(Place place, Group *far)
    : place_(std::move(place)),
      mailboxes_(place_.mailboxes),
      far_(far),
      others_(place_.order),
      out_of_memory_(Code::no_memory,
                     "rank " + std::to_string(place_.ranks[mailboxes_.seat()]) + ": out of memory"),
      next_pause_(first_pause) {
  std::erase(others_, mailboxes_.seat());
}

template <class Work>
auto MailboxGroup::take_part(Collective collective, const MessageView &message, const Call &call,
                             const Work &work) {
  const std::lock_guard guard(mutex_);
  place_.failure.check();  // of any channel, before the others see this rank in another collective
  begin(collective, message, call);
  try {
    // A broadcast may be over for its root.
    const bool has_a_say = collective != Collective::broadcast || is_root();
    if (has_a_say && place_.failure.is_stopping()) throw stopped(self(), place_.channel);
    if (mailboxes_.has_anybody_quit()) look_around(others_, false);
    auto result = work();
    mailboxes_.leave_collective(place_.channel, head_.sequence);
    return result;
  } catch (const std::exception &e) {
    const Error error = verdict(e, self(), place_.channel, out_of_memory_,
                                [this](const Error &gone) { return last_words(gone); });
    place_.failure.note(error);
    throw Error(error);
  }
}

// Who is gone may have told why, since that was looked for.
Error MailboxGroup::last_words(const Error &error) const {
  const std::optional<Error> told = mailboxes_.failure();
  return told ? with_own_argument(*told, self(), place_.channel) : error;
}

void MailboxGroup::begin(Collective collective, const MessageView &message, const Call &call) {
  argument_ = call.argument;  // before anything else: it may fail
  head_.collective = collective;
  head_.api = call.api;
  head_.digest = call.digest();
  meets_ = false;
  ++head_.sequence;
  head_.is_null = !message;
  head_.size = message ? message->size() : 0;
  head_.is_bulk = head_.size > Mailboxes::largest_payload;
  mailboxes_.enter(place_.channel, head_);
}

// The mailbox was this rank's in a collective that all others must be past.
void MailboxGroup::write(const MessageView &message) {
  const uint64_t turn = head_.sequence;
  if (all_ended_ + Mailboxes::depth < turn) {
    const Mailboxes::Bell::Waiting waiting(mailboxes_.bell(place_.channel));
    all_ended_ = turn;
    for (const size_t seat : others_) {
      // For more than one mailbox, so that not every collective has to wait.
      const auto is_past = [&] {
        return mailboxes_.ended(place_.channel, seat) + Mailboxes::depth / 2 >= turn;
      };
      wait_until(is_past, {seat});
      all_ended_ = std::min(all_ended_, mailboxes_.ended(place_.channel, seat));
    }
  }
  mailboxes_.write(place_.channel, head_, message.value_or(std::string_view()));
}

// All wait for all, and see what all say; true when some of it is too long for the mailboxes.
bool MailboxGroup::meet(const MessageView &message) {
  write(message);
  if (others_.size() <= most_to_look_at) {
    mailboxes_.bell(place_.channel).ring();
    size_t seen = 0;
    wait_for_result(
        [&] {
          while (seen < others_.size() &&
                 mailboxes_.is_written(place_.channel, others_[seen], head_.sequence))
            ++seen;
          return seen == others_.size();
        },
        others_);
  } else {
    wait_for_all();
  }
  bool is_bulk = head_.is_bulk;
  for (const size_t seat : others_) {
    const std::optional<Mailboxes::Said> said =
        mailboxes_.read(place_.channel, seat, head_.sequence);
    // Who comes to the same meeting in another collective has not written for this one.
    const FrameHead theirs =
        said ? said->head : mailboxes_.entered(place_.channel, seat).value_or(FrameHead());
    check(seat, theirs);
    is_bulk |= theirs.is_bulk;
  }
  all_ended_ = std::max(all_ended_, head_.sequence - 1);
  return is_bulk;
}

void MailboxGroup::wait_for_all() {
  const uint64_t meeting = ++meetings_;
  mailboxes_.come(place_.channel, meeting);
  meets_ = true;
  wait_for_result([&] { return mailboxes_.have_all_come(place_.channel, meeting); }, others_);
}

Message MailboxGroup::copy(const MessageView &message) const {
  return message ? Message(place_.transport.spare()->copy(*message)) : std::nullopt;
}

Message MailboxGroup::message_of(size_t seat) const {
  const std::optional<Mailboxes::Said> said = mailboxes_.read(place_.channel, seat, head_.sequence);
  if (!said)
    throw Error(Code::corrupt, here() + ": what rank " + std::to_string(place_.ranks[seat]) +
                                   " wrote into shared memory is gone");
  if (said->head.is_null) return std::nullopt;
  if (!said->head.is_bulk) return std::string(said->payload);
  std::string bulk = place_.transport.spare()->take(said->head.size);
  read_memory(said->bulk, bulk.data(), bulk.size());
  return bulk;
}

std::vector<Message> MailboxGroup::list(const MessageView &message) const {
  std::vector<Message> list;
  list.reserve(place_.order.size());
  for (const size_t seat : place_.order)
    list.push_back(seat == mailboxes_.seat() ? copy(message) : message_of(seat));
  return list;
}

std::optional<std::vector<Message>> MailboxGroup::gather(const MessageView &message,
                                                         const Call &call) {
  using List = std::optional<std::vector<Message>>;
  return take_part(Collective::gather, message, call, [&]() -> List {
    const bool has_bulk = meet(message);
    if (has_bulk && far_ != nullptr) return far_->gather(message, call);
    List result = is_root() ? List(list(message)) : std::nullopt;
    if (has_bulk) wait_for_all();  // until the root has read it
    return result;
  });
}

std::vector<Message> MailboxGroup::allgather(const MessageView &message, const Call &call) {
  return take_part(Collective::allgather, message, call, [&] {
    const bool has_bulk = meet(message);
    if (has_bulk && far_ != nullptr) return far_->allgather(message, call);
    std::vector<Message> result = list(message);
    if (has_bulk) wait_for_all();  // until all have read it
    return result;
  });
}

// Waits for nobody but a rank that is `depth` collectives behind.
Message MailboxGroup::broadcast(const MessageView &message, const Call &call) {
  const size_t root = place_.order.front();
  return take_part(Collective::broadcast, is_root() ? message : std::nullopt, call, [&] {
    if (is_root()) {
      write(message);
      mailboxes_.bell(place_.channel).ring();
      settle();
      if (head_.is_bulk && far_ != nullptr) return far_->broadcast(message, call);
      Message result = copy(message);
      if (head_.is_bulk) wait_for_all();  // until all have read it
      return result;
    }
    const uint64_t turn = head_.sequence;
    wait_for_result([&] { return mailboxes_.is_written(place_.channel, root, turn); }, {root});
    const std::optional<Mailboxes::Said> said = mailboxes_.read(place_.channel, root, turn);
    check(root, said->head);
    if (said->head.is_bulk && far_ != nullptr) return far_->broadcast(std::nullopt, call);
    Message result = message_of(root);
    if (said->head.is_bulk) wait_for_all();
    return result;
  });
}

// For a while, before sleeping; whether it is over.
template <class IsOver>
bool MailboxGroup::look(const IsOver &is_over) {
  const int looks = place_.has_own_core ? looks_on_own_core : looks_on_shared_core;
  for (int i = 0; i < looks; ++i, relax())
    if (is_over()) return true;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  const Clock::time_point end = Clock::now() + look_for;
  do {
    if (place_.has_own_core) relax();
    else sched_yield();
    if (!is_over()) continue;
    next_pause_ = first_pause;
    return true;
  } while (Clock::now() < end);
  pause_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, longest_pause);
  return false;
}

template <class IsOver>
void MailboxGroup::wait_until(const IsOver &is_over, const std::vector<size_t> &for_seats) {
  if (look(is_over)) return;
  const Clock::time_point end = Clock::now() + place_.timeout;
  for (bool slept = false;; slept = true) {
    const auto left =
        std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(end - Clock::now()));
    if (slept || mailboxes_.failure()) look_around(for_seats, left.count() == 0);
    if (left.count() == 0) throw silence_of(for_seats.front());
    if (mailboxes_.bell(place_.channel).sleep(is_over, std::min(nap, left))) return;
  }
}

// That all ranks have, or none: who stops waiting looks again whether others may have come to the
// end meanwhile, and those who come to it later hear that there is none.
template <class IsOver>
void MailboxGroup::wait_for_result(const IsOver &is_over, const std::vector<size_t> &for_seats) {
  try {
    wait_until(is_over, for_seats);
  } catch (const std::exception &) {
    if (mailboxes_.withdrawals().withdraw(place_.channel, head_.sequence, is_over)) throw;
  }
  settle();
}

void MailboxGroup::settle() const {
  const auto is_settled = [&] {
    return !mailboxes_.withdrawals().is_in_doubt(place_.channel, head_.sequence);
  };
  if (is_settled()) [[likely]]
    return;
  const Clock::time_point end = Clock::now() + place_.timeout;
  while (!mailboxes_.bell(place_.channel).sleep(is_settled, milliseconds(1))) {
    if (const std::optional<Error> failure = mailboxes_.failure())
      throw with_own_argument(*failure, self(), place_.channel);
    for (const size_t seat : others_) look_at(seat, false);
    if (Clock::now() >= end) throw silence_of(others_.front());
  }
}

// Throws where waiting is in vain.
void MailboxGroup::look_around(const std::vector<size_t> &for_seats, bool is_late) const {
  place_.failure.check();
  if (place_.failure.is_to_stop()) throw stopped(self(), place_.channel);
  if (const std::optional<Error> failure = mailboxes_.failure())
    throw with_own_argument(*failure, self(), place_.channel);
  for (const size_t seat : for_seats) look_at(seat, is_late);
}

void MailboxGroup::look_at(size_t seat, bool is_late) const {
  const uint64_t turn = head_.sequence;
  if (const std::optional<Mailboxes::Said> said = mailboxes_.read(place_.channel, seat, turn)) {
    check(seat, said->head);
    if (!meets_) return;  // else it has yet to come, and may die before
  }
  if (mailboxes_.ended(place_.channel, seat) >= turn) return;
  const int rank = place_.ranks[seat];
  if (mailboxes_.has_quit(seat))
    throw Error(Code::unavailable,
                here() + ": rank " + std::to_string(rank) + " left the job; see its own output");
  place_.transport.check_peer(rank);
  const std::optional<FrameHead> theirs = mailboxes_.entered(place_.channel, seat);
  if (theirs && theirs->sequence == turn) check(seat, *theirs);
  if (is_late && (!theirs || theirs->sequence <= turn)) throw silence_of(seat);
}

void MailboxGroup::check(size_t seat, const FrameHead &theirs) const {
  if (!is_same_call(theirs, head_))
    throw mismatch({place_.ranks[seat], theirs}, self(), place_.channel);
}

// A rank that waits in the other channel, as this one waits for it here, is not silent.
Error MailboxGroup::silence_of(size_t seat) const {
  const Channel other = other_than(place_.channel);
  std::string elsewhere;
  if (const std::optional<FrameHead> theirs = mailboxes_.waits_in(other, seat))
    elsewhere = Caller{place_.ranks[seat], *theirs}.call(other);
  return silence(place_.ranks[seat], self(), place_.channel, elsewhere, place_.timeout);
}

}  // namespace det::comm
