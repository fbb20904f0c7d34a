#include "core/comm/group.h"

#include <algorithm>
#include <utility>

namespace det {

namespace {

// A root that has waited this long asks what the others are doing.
constexpr std::chrono::milliseconds silence{1000};
// A broadcast does not wait for those who receive it. So that a root cannot run ahead without end,
// and hears of a rank that calls something else, it looks for answers and waits for them this
// often.
constexpr uint64_t look_interval = 16;
constexpr uint64_t wait_interval = 256;

Error reason_of(const Frame &abort) { return {code_from(abort.head.code), abort.payload}; }

// Copying more than this costs more than sending it in pieces.
constexpr size_t longest_list = size_t{32} << 10U;

std::vector<int> all_but(int rank, std::vector<int> members) {
  std::erase(members, rank);
  return members;
}

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
      others_(all_but(rank, members_)),
      rank_(rank),
      bulk_above_(transport.bulk_above()),
      timeout_(timeout),
      failure_(failure) {}

std::string Group::here() const { return call_name(collective_, channel_, sequence_); }

template <class Work>
auto Group::take_part(Collective collective, const Work &work) {
  const std::lock_guard guard(mutex_);
  collective_ = collective;
  ++sequence_;
  try {
    failure_.check();  // of any channel
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
  for (const int peer : others_) {
    if (!talks_to(peer)) continue;
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

std::optional<std::vector<Message>> Group::gather(const MessageView &message) {
  if (members_.size() == 1) return {{copy_of(message)}};
  return take_part(Collective::gather, [&]() -> std::optional<std::vector<Message>> {
    if (is_mesh()) {
      std::vector<Message> list = exchange(message, false);
      if (is_root()) return list;
      return std::nullopt;
    }
    if (is_root()) {
      std::vector<Message> list = collect(message);
      for (const int peer : others_) send(peer, FrameKind::done, std::nullopt);
      return list;
    }
    give_to_root(message);
    Patience patience(timeout_);
    await(members_.front(), FrameKind::done, patience);
    return std::nullopt;
  });
}

std::vector<Message> Group::allgather(const MessageView &message) {
  if (members_.size() == 1) return {copy_of(message)};
  return take_part(Collective::allgather, [&] {
    if (is_mesh()) return exchange(message, true);
    if (is_root()) {
      std::vector<Message> list = collect(message);
      send_list(list);
      return list;
    }
    give_to_root(message);
    return receive_list();
  });
}

// A short list is one message; the null message stands before a long one, which comes one by one.
void Group::send_list(const std::vector<Message> &list) {
  size_t size = 0;
  for (const Message &message : list) size += message ? message->size() : 0;
  if (size <= longest_list) return send_to_all(FrameKind::done, encode_messages(list));
  send_to_all(FrameKind::done, std::nullopt);
  for (const Message &message : list) send_to_all(FrameKind::done, message);
}

std::vector<Message> Group::receive_list() {
  if (const Message list = receive_from_root(FrameKind::done))
    return decode_messages(*list, members_.size());
  std::vector<Message> list;
  while (list.size() < members_.size()) list.push_back(receive_from_root(FrameKind::done));
  return list;
}

Message Group::broadcast(const MessageView &message) {
  if (members_.size() == 1) return copy_of(message);
  return take_part(Collective::broadcast, [&] {
    if (!is_root()) {
      Message result = receive_from_root(FrameKind::call);
      if (sequence_ % wait_interval == 0) send(members_.front(), FrameKind::done, std::nullopt);
      return result;
    }
    if (sequence_ % look_interval == 0) check_strays();
    send_to_all(FrameKind::call, message);
    if (sequence_ % wait_interval == 0) {
      Patience patience(timeout_);
      for (const int peer : others_) await(peer, FrameKind::done, patience);
    }
    return copy_of(message);
  });
}

void Group::send_to_all(FrameKind kind, const MessageView &message) {
  for (const int peer : others_) send(peer, kind, message);
  if (!is_bulk(message)) return;
  Patience patience(timeout_);
  for (const int peer : others_) await(peer, FrameKind::ready, patience);
  for (const int peer : others_) send(peer, FrameKind::go, std::nullopt);
  if (transport_.can_broadcast())
    // The transport only reads what the root sends.
    transport_.broadcast_bulk(rank_, channel_, const_cast<char *>(message->data()), message->size(),
                              patience);
  else
    for (const int peer : others_) transport_.send_bulk(peer, channel_, *message, patience);
}

Message Group::receive_from_root(FrameKind kind) {
  const int root = members_.front();
  Patience patience(timeout_);
  Frame frame = await(root, kind, patience);
  if (frame.head.is_null) return std::nullopt;
  if (!frame.head.is_bulk) return std::move(frame.payload);
  std::string bulk = transport_.spare()->take(frame.head.size);
  send(root, FrameKind::ready, std::nullopt);
  await(root, FrameKind::go, patience);
  receive_into(bulk, [&](char *data) {
    if (transport_.can_broadcast())
      transport_.broadcast_bulk(root, channel_, data, bulk.size(), patience);
    else transport_.receive_bulk(root, channel_, data, bulk.size(), patience);
  });
  return bulk;
}

void Group::give_to_root(const MessageView &message) {
  send(members_.front(), FrameKind::call, message);
  if (!is_bulk(message)) return;
  Patience patience(timeout_);
  await(members_.front(), FrameKind::go, patience);
  transport_.send_bulk(members_.front(), channel_, *message, patience);
}

// A transport that gave up may still write where it was to receive.
template <class Receive>
void Group::receive_into(std::string &buffer, const Receive &receive) {
  try {
    receive(buffer.data());
  } catch (...) {
    static_cast<void>(new std::string(std::move(buffer)));
    throw;
  }
}

// The root's side of give_to_root(), for all members.
std::vector<Message> Group::collect(const MessageView &message) {
  std::vector<Message> list(members_.size());
  list[0] = copy_of(message);
  Patience patience(timeout_);
  Patience at_once(std::min(timeout_, silence));
  for (size_t i = 1; i < members_.size(); ++i) {
    const int peer = members_[i];
    Frame frame;
    if (transport_.receive(peer, channel_, frame, at_once)) {
      check(peer, frame, FrameKind::call);
    } else {
      // Whoever is in another collective waits for the root as the root waits for it.
      send(peer, FrameKind::ask, std::nullopt);
      frame = await(peer, FrameKind::call, patience);
    }
    if (frame.head.is_bulk) {
      frame.payload = transport_.spare()->take(frame.head.size);
      send(peer, FrameKind::go, std::nullopt);
      receive_into(frame.payload, [&](char *data) {
        transport_.receive_bulk(peer, channel_, data, frame.head.size, patience);
      });
    }
    if (!frame.head.is_null) list[i] = std::move(frame.payload);
  }
  return list;
}

// Everybody tells everybody that it is here, with its message for those who are to have it. Bulk
// moves when everybody has room for it and knows that all others do.
std::vector<Message> Group::exchange(const MessageView &message, bool to_all) {
  const auto gets = [&](int receiver) { return to_all || receiver == members_.front(); };
  for (const int peer : others_) send(peer, FrameKind::call, gets(peer) ? message : MessageView());
  std::vector<Message> list(members_.size());
  std::vector<uint64_t> bulk(members_.size());
  Patience patience(timeout_);
  for (size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] == rank_) {
      bulk[i] = is_bulk(message) ? message->size() : 0;
      if (gets(rank_)) list[i] = copy_of(message);
      continue;
    }
    Frame frame = await(members_[i], FrameKind::call, patience);
    bulk[i] = frame.head.is_bulk ? frame.head.size : 0;
    if (frame.head.is_bulk) frame.payload = transport_.spare()->take(frame.head.size);
    if (!frame.head.is_null) list[i] = std::move(frame.payload);
  }
  // Who is sent nothing knows nothing of bulk: to gather it, the root and each member agree alone.
  if (to_all && std::ranges::any_of(bulk, [](uint64_t size) { return size != 0; })) {
    for (const int peer : others_) send(peer, FrameKind::ready, std::nullopt);
    for (const int peer : others_) await(peer, FrameKind::ready, patience);
  }
  for (size_t i = 0; i < members_.size(); ++i)
    if (bulk[i] != 0) move_bulk(members_[i], bulk[i], message, list[i], to_all, patience);
  return list;
}

// One rank's bulk, which `message` is here or `received` becomes.
void Group::move_bulk(int from, size_t size, const MessageView &message, Message &received,
                      bool to_all, Patience &patience) {
  if (to_all && transport_.can_broadcast()) {
    receive_into(*received, [&](char *data) {
      transport_.broadcast_bulk(from, channel_, data, size, patience);
    });
  } else if (from != rank_) {
    if (!to_all) send(from, FrameKind::go, std::nullopt);
    receive_into(*received, [&](char *data) {
      transport_.receive_bulk(from, channel_, data, size, patience);
    });
  } else if (to_all) {
    for (const int peer : others_) transport_.send_bulk(peer, channel_, *message, patience);
  } else if (!is_root()) {
    await(members_.front(), FrameKind::go, patience);
    transport_.send_bulk(members_.front(), channel_, *message, patience);
  }
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
  for (const int peer : others_) {
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

bool Group::is_bulk(const MessageView &message) const {
  return message && message->size() > bulk_above_;
}

Message Group::copy_of(const MessageView &message) {
  if (!message) return std::nullopt;
  return transport_.spare()->copy(*message);
}

void Group::send(int peer, FrameKind kind, const MessageView &message) {
  FrameHead head;
  head.kind = kind;
  head.collective = collective_;
  head.sequence = sequence_;
  head.is_null = !message;
  head.is_bulk = is_bulk(message);
  head.size = message ? message->size() : 0;
  Patience patience(timeout_);
  transport_.send(peer, channel_, head, message && !head.is_bulk ? *message : std::string_view(),
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
  if (std::exchange(told_, true)) return;
  for (const int peer : others_)
    if (talks_to(peer)) send_text(peer, FrameKind::abort, error);
}

void Group::leave() noexcept {
  const std::lock_guard guard(mutex_);
  for (const int peer : others_)
    if (talks_to(peer)) send_text(peer, FrameKind::leave, Error(Code::unavailable, ""));
}

}  // namespace det
