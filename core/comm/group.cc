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
  if (session_.members().size() == 1) return {{copy_of(message)}};
  using List = std::optional<std::vector<Message>>;
  return session_.take_part(Collective::gather, call, [&]() -> List {
    if (session_.is_mesh()) {
      std::vector<Message> list = exchange(message, false);
      return session_.is_root() ? List(std::move(list)) : std::nullopt;
    }
    List list;
    if (session_.is_root()) {
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
  if (session_.members().size() == 1) return {copy_of(message)};
  return session_.take_part(Collective::allgather, call, [&] {
    if (session_.is_mesh()) return exchange(message, true);
    if (!session_.is_root()) {
      give_to_parent(message);
      return receive_list_and_pass_it_on();
    }
    std::vector<Message> list = in_order(collect(message));
    send_list(list, [&](const MessageView &one) { send_to_children(FrameKind::done, one); });
    return list;
  });
}

Message Group::broadcast(const MessageView &message, const Call &call) {
  if (session_.members().size() == 1) return copy_of(message);
  return session_.take_part(Collective::broadcast, call, [&] {
    Message result = session_.is_root() ? copy_of(message) : receive_from_parent(FrameKind::call);
    pass_on(session_.is_root() ? message : result);
    return result;
  });
}

void Group::pass_on(const MessageView &message) {
  bool must_wait = false;
  const bool wants_answer = session_.asks_for_answers(must_wait);
  send_to_children(FrameKind::call, message, wants_answer);
  if (!must_wait) return;
  Patience patience = session_.patience();
  for (const int child : session_.children()) session_.await(child, FrameKind::done, patience);
}

std::vector<Message> Group::receive_list_and_pass_it_on() {
  return receive_list(session_.members().size(), [&] {
    Message one = receive_from_parent(FrameKind::done);
    send_to_children(FrameKind::done, one);
    return one;
  });
}

// What is for the ranks below a child goes to it as a list.
std::string Group::consult(const MessageView &message, const Call &call, const Answer &answer) {
  return session_.take_part(Collective::gather, call, [&] {
    std::vector<Message> said = hear_all(message), answers;
    if (session_.is_root()) {
      const std::vector<int> speakers = take_speakers(said);
      answers = answer(said);
      know_order(speakers);
    } else {
      send_to_parent(encode_messages(said));
      answers = decode_messages(receive_pieces(), said.size());
    }
    std::span<const Message> rest = std::span(answers).subspan(1);
    for (size_t i = 0; i < below_.size(); ++i) {
      send_pieces(session_.children()[i], encode_messages(rest.first(below_[i])));
      rest = rest.subspan(below_[i]);
    }
    return answers.front().value_or("");
  });
}

// Of this rank and all below it, each with its speaker; now it is known how many they are.
std::vector<Message> Group::hear_all(const MessageView &message) {
  std::vector<Message> said{with_speaker(session_.rank(), message)};
  Patience patience = session_.patience_with_leaders();
  for (size_t i = 0; i < below_.size(); ++i) {
    const Message packed = receive_from_child(session_.children()[i], patience);
    std::vector<Message> more = decode_messages(packed.value_or(""));
    below_[i] = more.size();
    append(said, std::move(more));
  }
  return said;
}

void Group::know_order(const std::vector<int> &speakers) {
  const std::vector<int> &members = session_.members();
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
    const auto receive_one = [&] { return receive_from_child(session_.children()[i], patience); };
    if (below_[i] == 1) list.push_back(receive_one());
    else append(list, receive_list(below_[i], receive_one));
  }
  return list;
}

// With what those below this rank say.
void Group::give_to_parent(const MessageView &message) {
  if (session_.children().empty()) return send_to_parent(message);
  send_list(collect(message), [&](const MessageView &one) { send_to_parent(one); });
}

}  // namespace det::comm
