// Hears the commands of a script, each on a thread of its own: saving a checkpoint takes its time.
#pragma once

#include <atomic>
#include <list>
#include <thread>
#include <utility>

#include "trial_holder.h"
#include "trial_socket.h"

namespace det::cli {

class TrialServer {
 public:
  explicit TrialServer(TrialHolder &holder) : holder_(holder) {}
  ~TrialServer();  // once all that was asked has been answered

  const std::string &name() const { return listener_.name(); }
  int fd() const { return listener_.fd(); }  // to be polled

  // Takes on those who have connected.
  void serve();

 private:
  struct Conversation {
    explicit Conversation(Fd with) : connection(std::move(with)) {}

    Fd connection;
    std::atomic<bool> is_over{false};
    std::thread thread;
  };

  TrialHolder &holder_;
  TrialListener listener_;
  std::list<Conversation> conversations_;
};

}  // namespace det::cli
