// Collectives over a transport. They go up a tree to its root and down again, and what is between
// two ranks of it is one list of those below, unless any two ranks may talk: then short messages of
// few ranks go straight to everybody.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/session.h"

namespace det::comm {

class Group {
 public:
  // As of Session.
  Group(Transport &transport, Channel channel, const std::vector<int> &members, int rank,
        std::chrono::milliseconds timeout, JobFailure &failure)
      : session_(transport, channel, members, rank, timeout, failure),
        members_(session_.members()),
        transport_(transport),
        channel_(channel),
        below_(members_.children().size(), 1) {}

  // Of the same ranks, as far as they are on this machine.
  void know(Group &other_channel) {
    session_.finder().know(other_channel.session_);
    other_channel.session_.finder().know(session_);
  }
  PeerFinder &finder() { return session_.finder(); }

  std::optional<std::vector<Message>> gather(const MessageView &message, const Call &call);
  std::vector<Message> allgather(const MessageView &message, const Call &call);
  Message broadcast(const MessageView &message, const Call &call);

  // Gives the root everybody's message, in the order of the tree, and each rank the root's answer
  // to its own. What `answer` throws is an error on every rank. The first collective of a tree with
  // more than one level: by it the ranks learn who is below them.
  using Answer = std::function<std::vector<Message>(const std::vector<Message> &messages)>;
  std::string consult(const MessageView &message, const Call &call, const Answer &answer);

  void leave() noexcept { session_.leave(); }

 private:
  std::vector<Message> collect(const MessageView &message);
  std::vector<Message> in_order(std::vector<Message> list);
  void give_to_parent(const MessageView &message);
  void send_to_parent(const MessageView &message);
  Message receive_from_parent(FrameKind kind) {
    return receive_from_parent(kind, session_.patience());
  }
  Message receive_from_parent(FrameKind kind, Patience patience);
  Message receive_from_child(int child, Patience &patience);
  void send_to_children(FrameKind kind, const MessageView &message, bool wants_answer = false);
  void pass_on(const MessageView &message);
  std::vector<Message> receive_list_and_pass_it_on();
  std::vector<Message> hear_all(const MessageView &message);
  void know_order(const std::vector<int> &speakers);
  void send_pieces(int peer, std::string_view text);
  std::string receive_pieces();
  std::vector<Message> exchange(const MessageView &message, bool to_all);
  void move_bulk(int from, size_t size, const MessageView &message, Message &received, bool to_all,
                 Patience &patience);
  template <class Receive>
  void receive_into(std::string &buffer, const Receive &receive);
  Message copy_of(const MessageView &message);

  Session session_;
  const ChannelMembers &members_;
  Transport &transport_;
  const Channel channel_;
  std::vector<size_t> below_;   // ranks below each child, with itself
  std::vector<size_t> places_;  // in the members, of those who speak in the order of the tree
};

}  // namespace det::comm
