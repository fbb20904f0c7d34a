// How messages get from one rank to the next.
#include <algorithm>
#include <utility>

#include "core/comm/group.h"

namespace det::comm {

// Bulk is for all children at once: what is for one goes in pieces that are none, with the null
// message after the last.
void Group::send_pieces(int peer, std::string_view text) {
  for (const size_t piece = transport_.bulk_above(); !text.empty();
       text.remove_prefix(std::min(piece, text.size())))
    session_.send(peer, FrameKind::done, text.substr(0, piece));
  session_.send(peer, FrameKind::done, std::nullopt);
}

std::string Group::receive_pieces() {
  std::string text;
  while (const Message piece = receive_from_parent(FrameKind::done)) text += *piece;
  return text;
}

void Group::send_to_children(FrameKind kind, const MessageView &message, bool wants_answer) {
  const std::vector<int> &children = session_.children();
  for (const int child : children) session_.send(child, kind, message, wants_answer);
  if (children.empty() || !session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  for (const int child : children) session_.await(child, FrameKind::ready, patience);
  for (const int child : children) session_.send(child, FrameKind::go, std::nullopt);
  if (transport_.can_broadcast())
    // The transport only reads what the root sends.
    transport_.broadcast_bulk(session_.rank(), session_.channel(),
                              const_cast<char *>(message->data()), message->size(), patience);
  else
    for (const int child : children)
      transport_.send_bulk(child, session_.channel(), *message, patience);
}

Message Group::receive_from_parent(FrameKind kind) {
  const int parent = session_.parent();
  Patience patience = session_.patience();
  const FrameHead head = session_.await(parent, kind, patience);
  Message result;
  if (head.is_bulk) {
    result = transport_.spare()->take(head.size);
    session_.send(parent, FrameKind::ready, std::nullopt);
    session_.await(parent, FrameKind::go, patience);
    receive_into(*result, [&](char *data) {
      if (transport_.can_broadcast())
        transport_.broadcast_bulk(parent, session_.channel(), data, head.size, patience);
      else transport_.receive_bulk(parent, session_.channel(), data, head.size, patience);
    });
  } else if (!head.is_null) {
    result = session_.payload_of(parent, head, patience);
  }
  if (head.wants_answer) session_.send_if_there(parent, FrameKind::done);
  return result;
}

void Group::send_to_parent(const MessageView &message) {
  const int parent = session_.parent();
  session_.send(parent, FrameKind::call, message);
  if (!session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  session_.await(parent, FrameKind::go, patience);
  transport_.send_bulk(parent, session_.channel(), *message, patience);
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

// The other side of send_to_parent().
Message Group::receive_from_child(int child, Patience &patience) {
  const FrameHead head = session_.await(child, FrameKind::call, patience);
  if (head.is_null) return std::nullopt;
  if (!head.is_bulk) return session_.payload_of(child, head, patience);
  Message bulk = transport_.spare()->take(head.size);
  session_.send(child, FrameKind::go, std::nullopt);
  receive_into(*bulk, [&](char *data) {
    transport_.receive_bulk(child, session_.channel(), data, head.size, patience);
  });
  return bulk;
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

}  // namespace det::comm
