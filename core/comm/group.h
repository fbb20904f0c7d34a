// Collectives over a transport. They go through a root, the chief, unless any two ranks may talk:
// then short messages of few ranks go straight to everybody.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/comm/session.h"

namespace det {

class Group {
 public:
  // As of Session.
  Group(Transport &transport, Channel channel, const std::vector<int> &members, int rank,
        std::chrono::milliseconds timeout, JobFailure &failure)
      : session_(transport, channel, members, rank, timeout, failure), transport_(transport) {}

  void know(Group &other_channel) { session_.know(other_channel.session_); }

  std::optional<std::vector<Message>> gather(const MessageView &message, const Call &call);
  std::vector<Message> allgather(const MessageView &message, const Call &call);
  Message broadcast(const MessageView &message, const Call &call);

  // Gives the root everybody's message, and each rank the root's answer to its own. What `answer`
  // throws is an error on every rank.
  using Answer = std::vector<Message> (*)(const std::vector<Message> &messages);
  std::string consult(const MessageView &message, const Call &call, Answer answer);

  void leave() noexcept { session_.leave(); }

 private:
  std::vector<Message> collect(const MessageView &message);
  void give_to_root(const MessageView &message);
  void send_to_all(FrameKind kind, const MessageView &message, bool wants_answer = false);
  Message receive_from_root(FrameKind kind);
  void send_list(const std::vector<Message> &list);
  std::vector<Message> receive_list();
  void send_pieces(int peer, std::string_view text);
  std::string receive_pieces();
  std::vector<Message> exchange(const MessageView &message, bool to_all);
  void move_bulk(int from, size_t size, const MessageView &message, Message &received, bool to_all,
                 Patience &patience);
  template <class Receive>
  void receive_into(std::string &buffer, const Receive &receive);
  Message copy_of(const MessageView &message);

  Session session_;
  Transport &transport_;
};

}  // namespace det
