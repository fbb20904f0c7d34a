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

std::vector<int> all_but(int rank, std::vector<int> members) {
  std::erase(members, rank);
  return members;
}

std::vector<int> neighbours(const Branch &branch) {
  std::vector<int> all = branch.children;
  if (branch.parent) all.push_back(*branch.parent);
  return all;
}

}  // namespace

Session::Session(Transport &transport, Channel channel, std::vector<int> members, int rank,
                 milliseconds timeout, JobFailure &failure)
    : transport_(transport),
      channel_(channel),
      members_(std::move(members)),
      rank_(rank),
      branch_(transport.branch(channel, members_, rank)),
      others_(transport.any_pair() ? all_but(rank, members_) : neighbours(branch_)),
      bulk_above_(transport.bulk_above()),
      timeout_(timeout),
      silence_(std::min(usual_silence, timeout / 4)),
      out_of_memory_(Code::no_memory, "rank " + std::to_string(rank) + ": out of memory"),
      failure_(failure) {
  head_.channel = channel;
  failure_.add(*this);
}

void Session::know(Session &other) {
  other_session_ = &other;
  other.other_session_ = this;
}

void Session::know_machine(std::vector<int> ranks, Board *board) {
  machine_ = std::move(ranks);
  board_ = board;
}

// On another machine of several ranks, which may find out there what is wrong, and tell it.
bool Session::leads_others(int peer) const {
  return machine_.size() > 1 && std::ranges::find(machine_, peer) == machine_.end();
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
  if (board_ != nullptr) board_->enter(channel_, head_);
}

FrameHead Session::head_of(FrameKind kind) const {
  FrameHead head = head_;
  head.kind = kind;
  return head;
}

void Session::send(int peer, FrameKind kind, const MessageView &message, bool wants_answer) {
  FrameHead head = head_of(kind);
  head.wants_answer = wants_answer;
  head.is_null = !message;
  head.is_bulk = is_bulk(message);
  head.size = message ? message->size() : 0;
  if (kind == FrameKind::call && branch_.parent == peer) has_called_ = true;
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
  if (is_mesh() || now < ask_at_) return;
  ask_at_ = now + std::max(silence_, timeout_ / questions);
  for (const int child : branch_.children) send_if_there(child, FrameKind::ask);
  if (branch_.parent && branch_.parent != peer && !has_called_ &&
      head_.collective != Collective::broadcast)
    send(*branch_.parent, FrameKind::ask, std::nullopt);
}

FrameHead Session::await(int peer, FrameKind kind, Patience &patience) {
  for (bool is_late = false;;) {
    FrameHead head;
    if (!receive(peer, head, patience)) {
      if (is_late || !leads_others(peer)) throw silence_of(peer);
      is_late = true;
      patience = Patience(std::min(for_the_verdict, timeout_ / 2));
      continue;
    }
    if (take_answer(peer, head) && !(kind == FrameKind::done && is_same_call(head, head_)))
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
  if (!is_old && !take_answer(peer, head)) check(peer, head, kind);
  return head;
}

// An answer to a broadcast may come when this rank is in a later collective.
bool Session::take_answer(int peer, const FrameHead &head) {
  if (head.kind != FrameKind::done || head.collective != Collective::broadcast ||
      head.sequence > asking_)
    return false;
  if (head.sequence == asking_) std::erase(not_answered_, peer);
  return true;
}

bool Session::asks_for_answers(bool &must_wait) {
  must_wait = false;
  if (branch_.children.empty()) return false;
  const auto now = std::chrono::steady_clock::now();
  const bool is_time = now - asked_at_ >= std::min(answer_interval, silence_);
  must_wait = head_.sequence % wait_interval == 0;
  // Until this rank has sent the broadcast none of them is past it: what is already here was said
  // in another collective, or answers an earlier one.
  if (must_wait || is_time || head_.sequence % look_interval == 0)
    for (const int peer : branch_.children)
      while (look(peer, FrameKind::done)) continue;
  if (!not_answered_.empty() && now - asked_at_ > timeout_) throw silence_of(not_answered_.front());
  if (!must_wait && (!is_time || !not_answered_.empty())) return false;
  asking_ = head_.sequence;
  asked_at_ = now;
  not_answered_ = branch_.children;
  return true;
}

// Throws unless the frame is the expected one of this collective.
void Session::check(int peer, const FrameHead &head, FrameKind expected) {
  if (head.kind == expected && is_same_call(head, head_)) return;
  if (head.kind == FrameKind::abort) throw reason_of(peer, head);
  if (head.kind == FrameKind::leave)
    throw Error(Code::unavailable,
                here() + ": rank " + std::to_string(peer) + " left the job; see its own output");
  throw mismatch({peer, head}, self(), channel_);
}

// A rank that waits in the other channel for this one, as this one waits for it here, is not
// silent.
Error Session::silence_of(int peer) {
  const std::optional<FrameHead> theirs = found_elsewhere(peer);
  const std::string elsewhere = theirs ? Caller{peer, *theirs}.call(other_channel()) : "";
  return silence(peer, self(), channel_, elsewhere, timeout_);
}

std::optional<FrameHead> Session::found_elsewhere(int peer) {
  const auto seat = std::ranges::find(machine_, peer);
  if (board_ != nullptr && seat != machine_.end()) {
    return board_->waits_in(other_channel(), static_cast<size_t>(seat - machine_.begin()));
  }
  return other_session_ != nullptr ? other_session_->call_waiting(peer) : std::nullopt;
}

// What a peer has called on this channel and this rank has not.
std::optional<FrameHead> Session::call_waiting(int peer) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || std::ranges::find(others_, peer) == others_.end()) return std::nullopt;
  FrameHead head;
  Patience none(milliseconds(0));
  while (transport_.receive_head(peer, channel_, head, none))
    if ((head.kind == FrameKind::call || head.kind == FrameKind::ask) &&
        head.sequence > head_.sequence)
      return head;
  return std::nullopt;
}

}  // namespace det::comm
