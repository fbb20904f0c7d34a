#include "core/comm/session.h"

#include <algorithm>
#include <utility>

namespace det {

namespace {

using std::chrono::milliseconds;

// A root that has waited this long asks what the others are doing. Whoever waits in vain looks
// this often whether another channel has failed.
constexpr milliseconds usual_silence{250};
// What the root finds out at the end of its own patience, the others should hear from it.
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

}  // namespace

Session::Session(Transport &transport, Channel channel, std::vector<int> members, int rank,
                 milliseconds timeout, JobFailure &failure)
    : transport_(transport),
      channel_(channel),
      members_(std::move(members)),
      others_(all_but(rank, members_)),
      rank_(rank),
      bulk_above_(transport.bulk_above()),
      timeout_(timeout),
      silence_(std::min(usual_silence, timeout / 4)),
      failure_(failure) {
  failure_.add(*this);
}

void Session::know(Session &other_channel) {
  other_channel_ = &other_channel;
  other_channel.other_channel_ = this;
}

void Session::begin(Collective collective, const Call &call) {
  head_.collective = collective;
  head_.api = call.api;
  head_.digest = call.digest();
  ++head_.sequence;
  argument_ = call.argument;
  has_asked_ = false;
}

bool Session::talks_to(int peer) const {
  return peer != rank_ && (is_root() || peer == root() || transport_.any_pair());
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
  Patience patience(timeout_);
  const std::string_view payload = message && !head.is_bulk ? *message : std::string_view();
  if (transport_.send(peer, channel_, head, payload, patience)) return;
  // What it says instead ends this collective.
  throw mismatch({peer, await(peer, FrameKind::done, patience)}, self(), channel_);
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
    if (patience.left().count() == 0) return false;
    ask_all();
  }
}

// Whoever is in another collective waits for the root as the root waits for it. The others learn
// that the root is here and will tell what comes of it.
void Session::ask_all() {
  if (!is_root() || is_mesh() || std::exchange(has_asked_, true)) return;
  for (const int peer : others_) send(peer, FrameKind::ask, std::nullopt);
}

FrameHead Session::await(int peer, FrameKind kind, Patience &patience) {
  for (;;) {
    FrameHead head;
    if (!receive(peer, head, patience)) throw silence_of(peer);
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
  if (!take_answer(peer, head)) check(peer, head, kind);
  return head;
}

// An answer to a broadcast may come when the root is in a later collective.
bool Session::take_answer(int peer, const FrameHead &head) {
  if (head.kind != FrameKind::done || head.collective != Collective::broadcast ||
      head.sequence > asking_)
    return false;
  if (head.sequence == asking_) std::erase(not_answered_, peer);
  return true;
}

bool Session::asks_for_answers(bool &must_wait) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_time = now - asked_at_ >= std::min(answer_interval, silence_);
  must_wait = head_.sequence % wait_interval == 0;
  // Until the root has sent this broadcast nobody is past it: what is already here was said in
  // another collective, or answers an earlier one.
  if (must_wait || is_time || head_.sequence % look_interval == 0)
    for (const int peer : others_)
      while (look(peer, FrameKind::done)) continue;
  if (!not_answered_.empty() && now - asked_at_ > timeout_) throw silence_of(not_answered_.front());
  if (!must_wait && (!is_time || !not_answered_.empty())) return false;
  asking_ = head_.sequence;
  asked_at_ = now;
  not_answered_ = others_;
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
  std::string elsewhere;
  if (other_channel_ != nullptr)
    if (const std::optional<FrameHead> theirs = other_channel_->call_waiting(peer))
      elsewhere = Caller{peer, *theirs}.call(other_channel_->channel_);
  return silence(peer, self(), channel_, elsewhere, timeout_);
}

// What a peer has called on this channel and this rank has not.
std::optional<FrameHead> Session::call_waiting(int peer) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || !talks_to(peer) || std::ranges::find(members_, peer) == members_.end())
    return std::nullopt;
  FrameHead head;
  Patience none(milliseconds(0));
  while (transport_.receive_head(peer, channel_, head, none))
    if ((head.kind == FrameKind::call || head.kind == FrameKind::ask) &&
        head.sequence > head_.sequence)
      return head;
  return std::nullopt;
}

}  // namespace det
