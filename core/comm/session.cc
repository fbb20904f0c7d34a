#include "core/comm/session.h"

#include <algorithm>
#include <utility>

namespace det::comm {

namespace {

using std::chrono::milliseconds;

// Who has waited this long asks what the others are doing, and asks again so many times before it
// gives up. Whoever waits in vain looks this often whether another channel has failed.
constexpr milliseconds usual_silence{250};
constexpr int questions = 8;
// What one finds out at the end of its patience, those who wait for it should hear from it.
constexpr milliseconds for_the_verdict{5000};
// A broadcast does not wait for those who receive it. So that a root hears of one that is lost or
// calls something else, it looks for what they say, and asks for an answer, this often; so that it
// cannot run ahead without end, it waits for one this often.
constexpr uint64_t look_interval = 16;
constexpr milliseconds answer_interval{1000};
constexpr uint64_t wait_interval = 256;
// Whoever is gone or does not listen must not hold up the one who reports a failure.
constexpr milliseconds to_tell{100};
// Beyond this many ranks the root's two steps beat everybody's message to everybody.
constexpr size_t largest_mesh = 8;

std::vector<int> others_of(const Transport &transport, const std::vector<int> &all, int rank,
                           const Branch &branch) {
  std::vector<int> others = transport.any_pair() ? all : branch.children;
  if (transport.any_pair()) std::erase(others, rank);
  else if (branch.parent) others.push_back(*branch.parent);
  return others;
}

FrameHead of_kind(FrameHead head, FrameKind kind) {
  head.kind = kind;
  return head;
}

}  // namespace

ChannelMembers::ChannelMembers(const Transport &transport, Channel channel,
                               std::vector<int> members, int own_rank)
    : all(std::move(members)),
      rank(own_rank),
      branch(transport.branch(channel, all, rank)),
      others(others_of(transport, all, rank, branch)),
      is_mesh(transport.any_pair() && all.size() <= largest_mesh) {}

void PeerFinder::know_machine(std::vector<int> ranks, Mailboxes *mailboxes) {
  machine_ = std::move(ranks);
  mailboxes_ = mailboxes;
}

bool PeerFinder::leads_others(int peer) const {
  return machine_.size() > 1 && std::ranges::find(machine_, peer) == machine_.end();
}

std::optional<FrameHead> PeerFinder::call_of(int peer, Channel channel) const {
  const auto seat = std::ranges::find(machine_, peer);
  if (mailboxes_ != nullptr && seat != machine_.end())
    return mailboxes_->waits_in(channel, static_cast<size_t>(seat - machine_.begin()));
  return other_ != nullptr ? other_->call_waiting(peer) : std::nullopt;
}

void BroadcastAnswers::ask(uint64_t sequence, const std::vector<int> &children) {
  asked_ = sequence;
  asked_at_ = std::chrono::steady_clock::now();
  missing_ = children;
}

bool BroadcastAnswers::take(int peer, const FrameHead &head) {
  if (head.kind != FrameKind::done || head.collective != Collective::broadcast ||
      head.sequence > asked_)
    return false;
  if (head.sequence == asked_) std::erase(missing_, peer);
  return true;
}

void LastWords::tell(FrameHead head, const Error &error) noexcept {
  if (std::exchange(told_, true)) return;
  head.kind = FrameKind::abort;
  head.code = static_cast<int8_t>(code_for_others(error.code));
  for (const int peer : members_.others) send(peer, head, error.what());
}

void LastWords::leave(FrameHead head) noexcept {
  head.kind = FrameKind::leave;
  head.code = static_cast<int8_t>(Code::unavailable);
  for (const int peer : members_.others) send(peer, head, "");
}

void LastWords::send(int peer, FrameHead &head, std::string_view text) noexcept {
  try {
    head.size = text.size();
    Patience brief(to_tell);
    transport_.send(peer, channel_, head, text, brief);
  } catch (const std::exception &) {
    return;
  }
}

Error LastWords::reason_of(int peer, const FrameHead &abort, const Caller &mine) const {
  Patience brief(to_tell);
  const Error error(code_from(abort.code),
                    transport_.receive_payload(peer, channel_, abort, brief));
  return with_own_argument(error, mine, channel_);
}

// Who is gone may have said why before, or called something else: now, or where this rank has gone
// past it with a broadcast, which waits for nobody. A later broadcast is neither.
Error LastWords::look_for(const Error &error, const Caller &mine) const {
  for (const int peer : members_.others) {
    try {
      FrameHead head;
      Patience none(milliseconds(0));
      while (transport_.receive_head(peer, channel_, head, none))
        if (head.kind == FrameKind::abort) return reason_of(peer, head, mine);
        else if (head.kind == FrameKind::call && head.sequence <= mine.head.sequence &&
                 !is_same_call(head, mine.head))
          return mismatch({peer, head}, mine, channel_);
    } catch (const Error &) {
      continue;  // this one said nothing
    }
  }
  return error;
}

Session::Session(Transport &transport, Channel channel, std::vector<int> members, int rank,
                 milliseconds timeout, JobFailure &failure)
    : transport_(transport),
      channel_(channel),
      members_(transport, channel, std::move(members), rank),
      bulk_above_(transport.bulk_above()),
      timeout_(timeout),
      silence_(std::min(usual_silence, timeout / 4)),
      out_of_memory_(Code::no_memory, "rank " + std::to_string(rank) + ": out of memory"),
      failure_(failure),
      last_words_(transport, channel, members_) {
  head_.channel = channel;
  failure_.add(*this);
}

Patience Session::patience_with_leaders() const { return Patience(timeout_ + for_the_verdict); }

void Session::begin(Collective collective, const Call &call) {
  argument_ = call.argument;  // before anything else: it may fail
  head_.collective = collective;
  head_.api = call.api;
  head_.digest = call.digest();
  ++head_.sequence;
  has_called_ = false;
  ask_at_ = {};
  finder_.enter(channel_, head_);
}

void Session::send(int peer, FrameKind kind, const MessageView &message, bool wants_answer) {
  FrameHead head = of_kind(head_, kind);
  head.wants_answer = wants_answer;
  head.is_null = !message;
  head.is_bulk = is_bulk(message);
  head.size = message ? message->size() : 0;
  if (kind == FrameKind::call && members_.branch.parent == peer) has_called_ = true;
  Patience patience(timeout_);
  const std::string_view payload = message && !head.is_bulk ? *message : std::string_view();
  if (transport_.send(peer, channel_, head, payload, patience)) return;
  // What it says instead ends this collective.
  throw mismatch({peer, await(peer, FrameKind::done, patience)}, self(), channel_);
}

// In a broadcast, for which nobody waits, a peer may have done its part and left the job. In other
// collectives whoever is not there is missing.
void Session::send_if_there(int peer, FrameKind kind) {
  try {
    send(peer, kind, std::nullopt);
  } catch (const Error &error) {
    if (error.code != Code::unavailable || head_.collective != Collective::broadcast) throw;
  }
}

std::string Session::payload_of(int peer, const FrameHead &head, Patience &patience) {
  return transport_.receive_payload(peer, channel_, head, patience);
}

// Waits in pieces; false at the end of `patience`.
bool Session::receive(int peer, FrameHead &head, Patience &patience) {
  for (;;) {
    const milliseconds piece = std::min(patience.for_one_wait(), silence_);
    Patience for_a_while(piece);
    if (transport_.receive_head(peer, channel_, head, for_a_while)) return true;
    patience.spend(piece);
    failure_.check();
    if (failure_.is_to_stop()) throw stopped(self(), channel_);
    if (patience.left().count() == 0) return false;
    ask_those_who_wait(peer);
  }
}

// Whoever is in another collective waits for this rank as this rank waits for `peer`. The others
// learn that it is here and will tell what comes of it: those below, and, where it has not said so
// yet, the one above.
void Session::ask_those_who_wait(int peer) {
  const auto now = std::chrono::steady_clock::now();
  if (members_.is_mesh || now < ask_at_) return;
  ask_at_ = now + std::max(silence_, timeout_ / questions);
  for (const int child : members_.branch.children) send_if_there(child, FrameKind::ask);
  if (members_.branch.parent && members_.branch.parent != peer && !has_called_ &&
      head_.collective != Collective::broadcast)
    send(*members_.branch.parent, FrameKind::ask, std::nullopt);
}

FrameHead Session::await(int peer, FrameKind kind, Patience &patience) {
  for (bool is_late = false;;) {
    FrameHead head;
    if (!receive(peer, head, patience)) {
      if (is_late || !finder_.leads_others(peer)) throw silence_of(peer);
      is_late = true;
      patience = Patience(std::min(for_the_verdict, timeout_ / 2));
      continue;
    }
    if (answers_.take(peer, head) && !(kind == FrameKind::done && is_same_call(head, head_)))
      continue;
    // Its question may have crossed this rank's answer.
    if (head.kind == FrameKind::ask && head.sequence < head_.sequence) continue;
    if (head.kind == FrameKind::ask && is_same_call(head, head_)) {
      patience = Patience(timeout_ + for_the_verdict);
      continue;
    }
    check(peer, head, kind);
    return head;
  }
}

std::optional<FrameHead> Session::look(int peer, FrameKind kind) {
  FrameHead head;
  Patience none(milliseconds(0));
  if (!transport_.receive_head(peer, channel_, head, none)) return std::nullopt;
  const bool is_old = head.kind == FrameKind::ask && head.sequence < head_.sequence;
  if (!is_old && !answers_.take(peer, head)) check(peer, head, kind);
  return head;
}

bool Session::asks_for_answers(bool &must_wait) {
  must_wait = false;
  if (members_.branch.children.empty()) return false;
  const auto since_asked = answers_.since_asked();
  const bool is_time = since_asked >= std::min(answer_interval, silence_);
  must_wait = head_.sequence % wait_interval == 0;
  // Until this rank has sent the broadcast none of them is past it: what is already here was said
  // in another collective, or answers an earlier one.
  if (must_wait || is_time || head_.sequence % look_interval == 0)
    for (const int peer : members_.branch.children)
      while (look(peer, FrameKind::done)) continue;
  const bool all_answered = answers_.missing().empty();
  if (!all_answered && since_asked > timeout_) throw silence_of(answers_.missing().front());
  if (!must_wait && (!is_time || !all_answered)) return false;
  answers_.ask(head_.sequence, members_.children());
  return true;
}

// Throws unless the frame is the expected one of this collective.
void Session::check(int peer, const FrameHead &head, FrameKind expected) {
  if (head.kind == expected && is_same_call(head, head_)) return;
  if (head.kind == FrameKind::abort) throw last_words_.reason_of(peer, head, self());
  if (head.kind == FrameKind::leave)
    throw Error(Code::unavailable, self().call(channel_) + ": rank " + std::to_string(peer) +
                                       " left the job; see its own output");
  throw mismatch({peer, head}, self(), channel_);
}

// A rank that waits in the other channel for this one, as this one waits for it here, is not
// silent.
Error Session::silence_of(int peer) {
  const Channel other = other_than(channel_);
  const std::optional<FrameHead> theirs = finder_.call_of(peer, other);
  const std::string elsewhere = theirs ? Caller{peer, *theirs}.call(other) : "";
  return silence(peer, self(), channel_, elsewhere, timeout_);
}

std::optional<FrameHead> Session::call_waiting(int peer) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || std::ranges::find(members_.others, peer) == members_.others.end())
    return std::nullopt;
  FrameHead head;
  Patience none(milliseconds(0));
  while (transport_.receive_head(peer, channel_, head, none))
    if ((head.kind == FrameKind::call || head.kind == FrameKind::ask) &&
        head.sequence > head_.sequence)
      return head;
  return std::nullopt;
}

void Session::fail(const Error &error) {
  last_words_.tell(head_, error);
  failure_.note(error, this);
  throw Error(error);
}

// A thread that is in a collective finds out, and tells, itself.
void Session::tell(const Error &error) noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock) last_words_.tell(head_, error);
}

void Session::leave() noexcept {
  const std::lock_guard guard(mutex_);
  last_words_.leave(head_);
}

}  // namespace det::comm
