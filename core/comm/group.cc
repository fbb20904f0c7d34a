#include "core/comm/group.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_map>
#include <utility>

#include "core/comm/numbers.h"

namespace det::comm {

namespace {

// Copying a longer one costs more than sending it by itself.
constexpr size_t longest_packed = size_t{16} << 10U;

// A list of short messages is packed once; the null message stands before a list of long ones,
// which come one by one.
template <class SendOne>
void send_list(const std::vector<Message> &list, const SendOne &send_one) {
  size_t size = 0;
  for (const Message &message : list) size += message ? message->size() : 0;
  if (size <= longest_packed * list.size()) return send_one(encode_messages(list));
  send_one(std::nullopt);
  for (const Message &message : list) send_one(message);
}

template <class ReceiveOne>
std::vector<Message> receive_list(size_t count, const ReceiveOne &receive_one) {
  if (const Message packed = receive_one()) return decode_messages(*packed, count);
  std::vector<Message> list;
  while (list.size() < count) list.push_back(receive_one());
  return list;
}

void append(std::vector<Message> &list, std::vector<Message> more) {
  std::ranges::move(more, std::back_inserter(list));
}

// Who says it stands before each message while the order of the tree is not known.
std::string with_speaker(int rank, const MessageView &message) {
  std::string said;
  append_number(said, int32_t{rank});
  return said.append(message.value_or(""));
}

std::vector<int> take_speakers(std::vector<Message> &said) {
  std::vector<int> speakers;
  speakers.reserve(said.size());
  for (Message &each : said) {
    if (!each || each->size() < sizeof(int32_t))
      throw Error(Code::corrupt, "joining a job: a rank does not say which it is");
    speakers.push_back(take_number<int32_t>(each->data()));
    each->erase(0, sizeof(int32_t));
  }
  return speakers;
}

}  // namespace

std::optional<std::vector<Message>> Group::gather(const MessageView &message, const Call &call) {
  if (members_.all.size() == 1) return {{copy_of(message)}};
  using List = std::optional<std::vector<Message>>;
  return session_.take_part(Collective::gather, call, [&]() -> List {
    if (members_.is_mesh) {
      std::vector<Message> list = exchange(message, false);
      return members_.is_root() ? List(std::move(list)) : std::nullopt;
    }
    List list;
    if (members_.is_root()) {
      list = in_order(collect(message));
    } else {
      give_to_parent(message);
      receive_from_parent(FrameKind::done);
    }
    send_to_children(FrameKind::done, std::nullopt);
    return list;
  });
}

std::vector<Message> Group::allgather(const MessageView &message, const Call &call) {
  if (members_.all.size() == 1) return {copy_of(message)};
  return session_.take_part(Collective::allgather, call, [&] {
    if (members_.is_mesh) return exchange(message, true);
    if (!members_.is_root()) {
      give_to_parent(message);
      return receive_list_and_pass_it_on();
    }
    std::vector<Message> list = in_order(collect(message));
    send_list(list, [&](const MessageView &one) { send_to_children(FrameKind::done, one); });
    return list;
  });
}

Message Group::broadcast(const MessageView &message, const Call &call) {
  if (members_.all.size() == 1) return copy_of(message);
  return session_.take_part(Collective::broadcast, call, [&] {
    Message result = members_.is_root() ? copy_of(message) : receive_from_parent(FrameKind::call);
    pass_on(members_.is_root() ? message : result);
    return result;
  });
}

void Group::pass_on(const MessageView &message) {
  bool must_wait = false;
  const bool wants_answer = session_.asks_for_answers(must_wait);
  send_to_children(FrameKind::call, message, wants_answer);
  if (!must_wait) return;
  Patience patience = session_.patience();
  for (const int child : members_.children()) session_.await(child, FrameKind::done, patience);
}

std::vector<Message> Group::receive_list_and_pass_it_on() {
  return receive_list(members_.all.size(), [&] {
    Message one = receive_from_parent(FrameKind::done);
    send_to_children(FrameKind::done, one);
    return one;
  });
}

// What is for the ranks below a child goes to it as a list.
std::string Group::consult(const MessageView &message, const Call &call, const Answer &answer) {
  return session_.take_part(Collective::gather, call, [&] {
    std::vector<Message> said = hear_all(message), answers;
    if (members_.is_root()) {
      const std::vector<int> speakers = take_speakers(said);
      answers = answer(said);
      know_order(speakers);
    } else {
      send_to_parent(encode_messages(said));
      answers = decode_messages(receive_pieces(), said.size());
    }
    std::span<const Message> rest = std::span(answers).subspan(1);
    for (size_t i = 0; i < below_.size(); ++i) {
      send_pieces(members_.children()[i], encode_messages(rest.first(below_[i])));
      rest = rest.subspan(below_[i]);
    }
    return answers.front().value_or("");
  });
}

// Of this rank and all below it, each with its speaker; now it is known how many they are.
std::vector<Message> Group::hear_all(const MessageView &message) {
  std::vector<Message> said{with_speaker(members_.rank, message)};
  Patience patience = session_.patience_with_leaders();
  for (size_t i = 0; i < below_.size(); ++i) {
    const Message packed = receive_from_child(members_.children()[i], patience);
    std::vector<Message> more = decode_messages(packed.value_or(""));
    below_[i] = more.size();
    append(said, std::move(more));
  }
  return said;
}

void Group::know_order(const std::vector<int> &speakers) {
  const std::vector<int> &members = members_.all;
  places_.clear();
  if (speakers == members) return;
  std::unordered_map<int, size_t> places;
  for (const int member : members) places.emplace(member, places.size());
  for (const int speaker : speakers) {
    const auto place = places.find(speaker);
    if (place == places.end() || speakers.size() != members.size())
      throw Error(Code::corrupt, "joining a job: rank " + std::to_string(speaker) +
                                     " is not one of those that are expected");
    places_.push_back(place->second);
  }
}

std::vector<Message> Group::in_order(std::vector<Message> list) {
  if (places_.empty()) return list;
  std::vector<Message> ordered(list.size());
  for (size_t i = 0; i < list.size(); ++i) ordered[places_[i]] = std::move(list[i]);
  return ordered;
}

// Of this rank and all below it, in the order of the tree.
std::vector<Message> Group::collect(const MessageView &message) {
  std::vector<Message> list{copy_of(message)};
  Patience patience = session_.patience();
  for (size_t i = 0; i < below_.size(); ++i) {
    const auto receive_one = [&] { return receive_from_child(members_.children()[i], patience); };
    if (below_[i] == 1) list.push_back(receive_one());
    else append(list, receive_list(below_[i], receive_one));
  }
  return list;
}

// With what those below this rank say.
void Group::give_to_parent(const MessageView &message) {
  if (members_.children().empty()) return send_to_parent(message);
  send_list(collect(message), [&](const MessageView &one) { send_to_parent(one); });
}

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
  // The chief may wait as long for those who have not come, and says who they are.
  const Patience patience = session_.patience_with_leaders();
  while (const Message piece = receive_from_parent(FrameKind::done, patience)) text += *piece;
  return text;
}

void Group::send_to_children(FrameKind kind, const MessageView &message, bool wants_answer) {
  const std::vector<int> &children = members_.children();
  for (const int child : children) session_.send(child, kind, message, wants_answer);
  if (children.empty() || !session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  for (const int child : children) session_.await(child, FrameKind::ready, patience);
  for (const int child : children) session_.send(child, FrameKind::go, std::nullopt);
  if (transport_.can_broadcast())
    // The transport only reads what the root sends.
    transport_.broadcast_bulk(members_.rank, channel_, const_cast<char *>(message->data()),
                              message->size(), patience);
  else
    for (const int child : children) transport_.send_bulk(child, channel_, *message, patience);
}

Message Group::receive_from_parent(FrameKind kind, Patience patience) {
  const int parent = members_.parent();
  const FrameHead head = session_.await(parent, kind, patience);
  Message result;
  if (head.is_bulk) {
    result = transport_.spare()->take(head.size);
    session_.send(parent, FrameKind::ready, std::nullopt);
    session_.await(parent, FrameKind::go, patience);
    receive_into(*result, [&](char *data) {
      if (transport_.can_broadcast())
        transport_.broadcast_bulk(parent, channel_, data, head.size, patience);
      else transport_.receive_bulk(parent, channel_, data, head.size, patience);
    });
  } else if (!head.is_null) {
    result = session_.payload_of(parent, head, patience);
  }
  if (head.wants_answer) session_.send_if_there(parent, FrameKind::done);
  return result;
}

void Group::send_to_parent(const MessageView &message) {
  const int parent = members_.parent();
  session_.send(parent, FrameKind::call, message);
  if (!session_.is_bulk(message)) return;
  Patience patience = session_.patience();
  session_.await(parent, FrameKind::go, patience);
  transport_.send_bulk(parent, channel_, *message, patience);
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
    transport_.receive_bulk(child, channel_, data, head.size, patience);
  });
  return bulk;
}

// Everybody tells everybody that it is here, with its message for those who are to have it. Bulk
// moves when everybody has room for it and knows that all others do.
std::vector<Message> Group::exchange(const MessageView &message, bool to_all) {
  const std::vector<int> &members = members_.all;
  const auto gets = [&](int receiver) { return to_all || receiver == members_.root(); };
  for (const int peer : members_.others)
    session_.send(peer, FrameKind::call, gets(peer) ? message : MessageView());
  std::vector<Message> list(members.size());
  std::vector<uint64_t> bulk(members.size());
  Patience patience = session_.patience();
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i] == members_.rank) {
      bulk[i] = session_.is_bulk(message) ? message->size() : 0;
      if (gets(members_.rank)) list[i] = copy_of(message);
      continue;
    }
    const FrameHead head = session_.await(members[i], FrameKind::call, patience);
    bulk[i] = head.is_bulk ? head.size : 0;
    if (head.is_bulk) list[i] = transport_.spare()->take(head.size);
    else if (!head.is_null) list[i] = session_.payload_of(members[i], head, patience);
  }
  // Who is sent nothing knows nothing of bulk: to gather it, the root and each member agree alone.
  if (to_all && std::ranges::any_of(bulk, [](uint64_t size) { return size != 0; })) {
    for (const int peer : members_.others) session_.send(peer, FrameKind::ready, std::nullopt);
    for (const int peer : members_.others) session_.await(peer, FrameKind::ready, patience);
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
      transport_.broadcast_bulk(from, channel_, data, size, patience);
    });
  } else if (from != members_.rank) {
    if (!to_all) session_.send(from, FrameKind::go, std::nullopt);
    receive_into(*received, [&](char *data) {
      transport_.receive_bulk(from, channel_, data, size, patience);
    });
  } else if (to_all) {
    for (const int peer : members_.others) transport_.send_bulk(peer, channel_, *message, patience);
  } else if (!members_.is_root()) {
    session_.await(members_.root(), FrameKind::go, patience);
    transport_.send_bulk(members_.root(), channel_, *message, patience);
  }
}

Message Group::copy_of(const MessageView &message) {
  if (!message) return std::nullopt;
  return transport_.spare()->copy(*message);
}

}  // namespace det::comm
