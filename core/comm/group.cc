#include "core/comm/group.h"

#include <algorithm>
#include <utility>

namespace det {

namespace {

// Copying a longer one costs more than sending it by itself.
constexpr size_t longest_packed = size_t{16} << 10U;

}  // namespace

std::optional<std::vector<Message>> Group::gather(const MessageView &message, const Call &call) {
  if (session_.members().size() == 1) return {{copy_of(message)}};
  using List = std::optional<std::vector<Message>>;
  return session_.take_part(Collective::gather, call, [&]() -> List {
    if (session_.is_mesh()) {
      std::vector<Message> list = exchange(message, false);
      return session_.is_root() ? List(std::move(list)) : std::nullopt;
    }
    if (session_.is_root()) {
      std::vector<Message> list = collect(message);
      send_to_all(FrameKind::done, std::nullopt);
      return list;
    }
    give_to_root(message);
    receive_from_root(FrameKind::done);
    return std::nullopt;
  });
}

std::vector<Message> Group::allgather(const MessageView &message, const Call &call) {
  if (session_.members().size() == 1) return {copy_of(message)};
  return session_.take_part(Collective::allgather, call, [&] {
    if (session_.is_mesh()) return exchange(message, true);
    if (session_.is_root()) {
      std::vector<Message> list = collect(message);
      send_list(list);
      return list;
    }
    give_to_root(message);
    return receive_list();
  });
}

std::string Group::consult(const MessageView &message, const Call &call, Answer answer) {
  return session_.take_part(Collective::gather, call, [&] {
    if (!session_.is_root()) {
      give_to_root(message);
      return receive_pieces();
    }
    const std::vector<int> &members = session_.members();
    const std::vector<Message> answers = answer(collect(message));
    for (size_t i = 1; i < members.size(); ++i) send_pieces(members[i], *answers[i]);
    return *answers.front();
  });
}

// Bulk is for all members at once: what is for one goes in pieces that are none, with the null
// message after the last.
void Group::send_pieces(int peer, std::string_view text) {
  for (const size_t piece = transport_.bulk_above(); !text.empty();
       text.remove_prefix(std::min(piece, text.size())))
    session_.send(peer, FrameKind::done, text.substr(0, piece));
  session_.send(peer, FrameKind::done, std::nullopt);
}

std::string Group::receive_pieces() {
  std::string text;
  while (const Message piece = receive_from_root(FrameKind::done)) text += *piece;
  return text;
}

// A list of short messages is packed once; the null message stands before a list of long ones,
// which come one by one.
void Group::send_list(const std::vector<Message> &list) {
  size_t size = 0;
  for (const Message &message : list) size += message ? message->size() : 0;
  if (size <= longest_packed * list.size())
    return send_to_all(FrameKind::done, encode_messages(list));
  send_to_all(FrameKind::done, std::nullopt);
  for (const Message &message : list) send_to_all(FrameKind::done, message);
}

std::vector<Message> Group::receive_list() {
  const size_t count = session_.members().size();
  if (const Message list = receive_from_root(FrameKind::done)) return decode_messages(*list, count);
  std::vector<Message> list;
  while (list.size() < count) list.push_back(receive_from_root(FrameKind::done));
  return list;
}

Message Group::broadcast(const MessageView &message, const Call &call) {
  if (session_.members().size() == 1) return copy_of(message);
  return session_.take_part(Collective::broadcast, call, [&] {
    if (!session_.is_root()) return receive_from_root(FrameKind::call);
    bool must_wait = false;
    const bool wants_answer = session_.asks_for_answers(must_wait);
    send_to_all(FrameKind::call, message, wants_answer);
    if (must_wait) {
      Patience patience = session_.patience();
      for (const int peer : session_.others()) session_.await(peer, FrameKind::done, patience);
    }
    return copy_of(message);
  });
}

void Group::send_to_all(FrameKind kind, const MessageView &message, bool wants_answer) {
  const std::vector<int> &others = session_.others();
  for (const int peer : others) session_.send(peer, kind, message, wants_answer);
  if (!session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  for (const int peer : others) session_.await(peer, FrameKind::ready, patience);
  for (const int peer : others) session_.send(peer, FrameKind::go, std::nullopt);
  if (transport_.can_broadcast())
    // The transport only reads what the root sends.
    transport_.broadcast_bulk(session_.rank(), session_.channel(),
                              const_cast<char *>(message->data()), message->size(), patience);
  else
    for (const int peer : others)
      transport_.send_bulk(peer, session_.channel(), *message, patience);
}

Message Group::receive_from_root(FrameKind kind) {
  const int root = session_.root();
  Patience patience = session_.patience();
  const FrameHead head = session_.await(root, kind, patience);
  Message result;
  if (head.is_bulk) {
    result = transport_.spare()->take(head.size);
    session_.send(root, FrameKind::ready, std::nullopt);
    session_.await(root, FrameKind::go, patience);
    receive_into(*result, [&](char *data) {
      if (transport_.can_broadcast())
        transport_.broadcast_bulk(root, session_.channel(), data, head.size, patience);
      else transport_.receive_bulk(root, session_.channel(), data, head.size, patience);
    });
  } else if (!head.is_null) {
    result = session_.payload_of(root, head, patience);
  }
  if (head.wants_answer) session_.send(root, FrameKind::done, std::nullopt);
  return result;
}

void Group::give_to_root(const MessageView &message) {
  session_.send(session_.root(), FrameKind::call, message);
  if (!session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  session_.await(session_.root(), FrameKind::go, patience);
  transport_.send_bulk(session_.root(), session_.channel(), *message, patience);
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
  const std::vector<int> &members = session_.members();
  std::vector<Message> list(members.size());
  list[0] = copy_of(message);
  Patience patience = session_.patience();
  for (size_t i = 1; i < members.size(); ++i) {
    const FrameHead head = session_.await(members[i], FrameKind::call, patience);
    if (head.is_bulk) {
      list[i] = transport_.spare()->take(head.size);
      session_.send(members[i], FrameKind::go, std::nullopt);
      receive_into(*list[i], [&](char *data) {
        transport_.receive_bulk(members[i], session_.channel(), data, head.size, patience);
      });
    } else if (!head.is_null) {
      list[i] = session_.payload_of(members[i], head, patience);
    }
  }
  return list;
}

// Everybody tells everybody that it is here, with its message for those who are to have it. Bulk
// moves when everybody has room for it and knows that all others do.
std::vector<Message> Group::exchange(const MessageView &message, bool to_all) {
  const std::vector<int> &members = session_.members();
  const auto gets = [&](int receiver) { return to_all || receiver == session_.root(); };
  for (const int peer : session_.others())
    session_.send(peer, FrameKind::call, gets(peer) ? message : MessageView());
  std::vector<Message> list(members.size());
  std::vector<uint64_t> bulk(members.size());
  Patience patience = session_.patience();
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == session_.rank()) {
      bulk[i] = session_.is_bulk(message) ? message->size() : 0;
      if (gets(session_.rank())) list[i] = copy_of(message);
      continue;
    }
    const FrameHead head = session_.await(members[i], FrameKind::call, patience);
    bulk[i] = head.is_bulk ? head.size : 0;
    if (head.is_bulk) list[i] = transport_.spare()->take(head.size);
    else if (!head.is_null) list[i] = session_.payload_of(members[i], head, patience);
  }
  // Who is sent nothing knows nothing of bulk: to gather it, the root and each member agree alone.
  if (to_all && std::ranges::any_of(bulk, [](uint64_t size) { return size != 0; })) {
    for (const int peer : session_.others()) session_.send(peer, FrameKind::ready, std::nullopt);
    for (const int peer : session_.others()) session_.await(peer, FrameKind::ready, patience);
  }
  for (size_t i = 0; i < members.size(); ++i)
    if (bulk[i] != 0) move_bulk(members[i], bulk[i], message, list[i], to_all, patience);
  return list;
}

// One rank's bulk, which `message` is here or `received` becomes.
void Group::move_bulk(int from, size_t size, const MessageView &message, Message &received,
                      bool to_all, Patience &patience) {
  if (to_all && transport_.can_broadcast()) {
    receive_into(*received, [&](char *data) {
      transport_.broadcast_bulk(from, session_.channel(), data, size, patience);
    });
  } else if (from != session_.rank()) {
    if (!to_all) session_.send(from, FrameKind::go, std::nullopt);
    receive_into(*received, [&](char *data) {
      transport_.receive_bulk(from, session_.channel(), data, size, patience);
    });
  } else if (to_all) {
    for (const int peer : session_.others())
      transport_.send_bulk(peer, session_.channel(), *message, patience);
  } else if (!session_.is_root()) {
    session_.await(session_.root(), FrameKind::go, patience);
    transport_.send_bulk(session_.root(), session_.channel(), *message, patience);
  }
}

Message Group::copy_of(const MessageView &message) {
  if (!message) return std::nullopt;
  return transport_.spare()->copy(*message);
}

}  // namespace det
