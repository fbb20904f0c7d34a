#include "core/comm/group.h"

#include <algorithm>

namespace det {

namespace {

// A root that has waited this long asks what the others are doing.
constexpr std::chrono::milliseconds silence{1000};
// A broadcast does not wait for those who receive it. So that a root cannot run ahead without end,
// and hears of a rank that calls something else, it looks for answers and waits for them this
// often.
constexpr uint64_t look_interval = 16;
constexpr uint64_t wait_interval = 256;

Error reason_of(const Frame &abort) { return {static_cast<Code>(abort.head.code), abort.payload}; }

std::string call_name(Collective collective, Channel channel, uint64_t sequence) {
  return std::string(name_of(collective, channel)) + " (call " + std::to_string(sequence) + ")";
}

}  // namespace

void JobFailure::note(const Error &error) {
  const std::lock_guard guard(mutex_);
  if (!first_) first_ = error;
  failed_.store(true, std::memory_order_release);
}

void JobFailure::check() const {
  if (!failed_.load(std::memory_order_acquire)) return;
  const std::lock_guard guard(mutex_);
  throw Error(*first_);
}

Group::Group(Transport &transport, Channel channel, std::vector<int> members, int rank,
             std::chrono::milliseconds timeout, JobFailure &failure)
    : transport_(transport),
      channel_(channel),
      members_(std::move(members)),
      rank_(rank),
      timeout_(timeout),
      failure_(failure) {}

std::string Group::here() const { return call_name(collective_, channel_, sequence_); }

template <class Work>
auto Group::take_part(Collective collective, const Work &work) {
  const std::lock_guard guard(mutex_);
  failure_.check();
  collective_ = collective;
  ++sequence_;
  try {
    return work();
  } catch (const Error &e) {
    fail(e.code == Code::unavailable ? last_words(e) : e);
  } catch (const std::bad_alloc &) {
    fail(Error(Code::no_memory, here() + ": out of memory"));
  }
}

void Group::fail(const Error &error) {
  failure_.note(error);
  tell_all(error);
  throw Error(error);
}

// Who is gone may have said why before.
Error Group::last_words(const Error &error) {
  for (const int peer : members_) {
    if (peer == rank_ || !talks_to(peer)) continue;
    try {
      Frame frame;
      Patience none(std::chrono::milliseconds(0));
      while (transport_.receive(peer, channel_, frame, none))
        if (frame.head.kind == FrameKind::abort) return reason_of(frame);
    } catch (const Error &) {
      continue;  // this one said nothing
    }
  }
  return error;
}

bool Group::talks_to(int peer) const {
  return is_root() || peer == members_.front() || transport_.any_pair();
}

std::optional<std::vector<Message>> Group::gather(const Message &message) {
  if (members_.size() == 1) return {{message}};
  return take_part(Collective::gather, [&]() -> std::optional<std::vector<Message>> {
    if (is_mesh()) {
      std::vector<Message> list = exchange(message, false);
      if (is_root()) return list;
      return std::nullopt;
    }
    if (is_root()) {
      std::vector<Message> list = collect(message);
      for (const int peer : members_)
        if (peer != rank_) send(peer, FrameKind::done, std::nullopt);
      return list;
    }
    send(members_.front(), FrameKind::call, message);
    Patience patience(timeout_);
    await(members_.front(), FrameKind::done, patience);
    return std::nullopt;
  });
}

std::vector<Message> Group::allgather(const Message &message) {
  if (members_.size() == 1) return {message};
  return take_part(Collective::allgather, [&] {
    if (is_mesh()) return exchange(message, true);
    if (is_root()) {
      std::vector<Message> list = collect(message);
      const std::string payload = encode_messages(list);
      for (const int peer : members_)
        if (peer != rank_) send(peer, FrameKind::done, payload);
      return list;
    }
    send(members_.front(), FrameKind::call, message);
    Patience patience(timeout_);
    return decode_messages(await(members_.front(), FrameKind::done, patience).payload,
                           members_.size());
  });
}

Message Group::broadcast(const Message &message) {
  if (members_.size() == 1) return message;
  return take_part(Collective::broadcast, [&] {
    Message result = is_root() ? send_to_all(message) : receive_from_root();
    if (sequence_ % wait_interval != 0) return result;
    if (!is_root()) {
      send(members_.front(), FrameKind::done, std::nullopt);
      return result;
    }
    Patience patience(timeout_);
    for (const int peer : members_)
      if (peer != rank_) await(peer, FrameKind::done, patience);
    return result;
  });
}

Message Group::send_to_all(const Message &message) {
  if (sequence_ % look_interval == 0) check_strays();
  const bool bulk = is_bulk(message);
  for (const int peer : members_)
    if (peer != rank_) send(peer, FrameKind::call, message, !bulk);
  Message copy = message;
  if (bulk) {
    Patience patience(timeout_);
    transport_.broadcast_bulk(rank_, channel_, copy->data(), copy->size(), patience);
  }
  return copy;
}

Message Group::receive_from_root() {
  Patience patience(timeout_);
  Frame frame = await(members_.front(), FrameKind::call, patience);
  if (frame.head.is_null) return std::nullopt;
  if (frame.head.is_bulk) {
    frame.payload.resize(frame.head.size);
    transport_.broadcast_bulk(members_.front(), channel_, frame.payload.data(),
                              frame.payload.size(), patience);
  }
  return std::move(frame.payload);
}

std::vector<Message> Group::collect(const Message &message) {
  std::vector<Message> list(members_.size());
  list[0] = message;
  Patience patience(timeout_);
  Patience at_once(std::min(timeout_, silence));
  for (size_t i = 1; i < members_.size(); ++i) {
    Frame frame;
    if (transport_.receive(members_[i], channel_, frame, at_once)) {
      check(members_[i], frame, FrameKind::call);
    } else {
      // Whoever is in another collective waits for the root as the root waits for it.
      send(members_[i], FrameKind::ask, std::nullopt);
      frame = await(members_[i], FrameKind::call, patience);
    }
    if (!frame.head.is_null) list[i] = std::move(frame.payload);
  }
  return list;
}

std::vector<Message> Group::exchange(const Message &message, bool to_all) {
  const bool bulk = to_all && is_bulk(message);
  for (const int peer : members_) {
    if (peer == rank_) continue;
    if (to_all || peer == members_.front()) send(peer, FrameKind::call, message, !bulk);
    else send(peer, FrameKind::call, std::nullopt);
  }
  std::vector<Message> list(members_.size());
  std::vector<bool> bulks(members_.size());
  Patience patience(timeout_);
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] == rank_) {
      list[i] = message;
      bulks[i] = bulk;
      continue;
    }
    Frame frame = await(members_[i], FrameKind::call, patience);
    bulks[i] = frame.head.is_bulk;
    if (frame.head.is_bulk) frame.payload.resize(frame.head.size);
    if (!frame.head.is_null) list[i] = std::move(frame.payload);
  }
  for (size_t i = 0; i < members_.size(); ++i)
    if (bulks[i])
      transport_.broadcast_bulk(members_[i], channel_, list[i]->data(), list[i]->size(), patience);
  return list;
}

// The next frame of a peer that has something to do with this collective.
Frame Group::await(int peer, FrameKind kind, Patience &patience) {
  for (;;) {
    Frame frame;
    if (!transport_.receive(peer, channel_, frame, patience))
      throw Error(Code::timeout,
                  here() + ": rank " + std::to_string(peer) + " did not take part within " +
                      std::to_string(timeout_.count()) +
                      " ms; see what it is doing, or raise timeout_ms or DET_DISTRIBUTED_TIMEOUT");
    if (frame.head.kind == FrameKind::ask && is_of_this_call(frame.head)) continue;
    check(peer, frame, kind);
    return frame;
  }
}

bool Group::is_of_this_call(const FrameHead &head) const {
  return head.sequence == sequence_ && head.collective == collective_;
}

// Until the root has sent this broadcast nobody is past it: what is already here was sent in
// another collective.
void Group::check_strays() {
  for (const int peer : members_) {
    if (peer == rank_) continue;
    Frame frame;
    Patience none(std::chrono::milliseconds(0));
    if (transport_.receive(peer, channel_, frame, none)) check(peer, frame, FrameKind::done);
  }
}

// Throws unless the frame is the expected one of this collective.
void Group::check(int peer, const Frame &frame, FrameKind expected) const {
  if (frame.head.kind == expected && is_of_this_call(frame.head)) return;
  if (frame.head.kind == FrameKind::abort) throw reason_of(frame);
  const std::string who = "rank " + std::to_string(peer);
  if (frame.head.kind == FrameKind::leave)
    throw Error(Code::unavailable, here() + ": " + who + " left the job; see its own output");
  throw Error(Code::conflict, who + " called " +
                                  call_name(frame.head.collective, channel_, frame.head.sequence) +
                                  " where rank " + std::to_string(rank_) + " called " + here() +
                                  ": all ranks must make the same calls in the same order");
}

bool Group::is_bulk(const Message &message) const {
  const size_t limit = transport_.bulk_above();
  return limit > 0 && message && message->size() > limit;
}

void Group::send(int peer, FrameKind kind, const Message &message, bool with_payload) {
  FrameHead head;
  head.kind = kind;
  head.collective = collective_;
  head.sequence = sequence_;
  head.is_null = !message;
  head.is_bulk = !with_payload;
  head.size = message ? message->size() : 0;
  Patience patience(timeout_);
  transport_.send(peer, channel_, head, message && with_payload ? *message : std::string_view(),
                  patience);
}

void Group::send_text(int peer, FrameKind kind, const Error &why) noexcept {
  try {
    FrameHead head;
    head.kind = kind;
    head.collective = collective_;
    head.sequence = sequence_;
    head.code = static_cast<int8_t>(why.code);
    const std::string text = why.what();
    head.size = text.size();
    // Whoever is gone or does not listen must not hold up the one who reports a failure.
    Patience brief(std::chrono::milliseconds(100));
    transport_.send(peer, channel_, head, text, brief);
  } catch (const std::exception &) {
    return;
  }
}

void Group::tell_all(const Error &error) noexcept {
  for (const int peer : members_)
    if (peer != rank_ && talks_to(peer)) send_text(peer, FrameKind::abort, error);
}

void Group::leave() noexcept {
  const std::lock_guard guard(mutex_);
  for (const int peer : members_)
    if (peer != rank_ && talks_to(peer))
      send_text(peer, FrameKind::leave, Error(Code::unavailable, ""));
}

}  // namespace det
