// Saves that go on in the background: one after the other, in the order in which they were asked
// for, on a thread that is there while there are any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fork_guard.h"
#include "core/context/save_ticket.h"

namespace det::context {

class SaveQueue {
 public:
  // What it throws is the save's failure. It is gone before the ticket is told that it ended.
  using Work = std::function<void(SaveTicket &)>;

  SaveQueue();
  ~SaveQueue();  // waits for all of them, but not in a forked child
  SaveQueue(const SaveQueue &) = delete;
  SaveQueue &operator=(const SaveQueue &) = delete;

  // Until no more than so many are under way, which together hold back at most so many bytes; false
  // at the end of `limit`.
  struct Room {
    size_t saves = 0;
    uint64_t bytes = UINT64_MAX;
  };
  bool await(const Room &room, std::optional<std::chrono::milliseconds> limit = {});

  void add(std::shared_ptr<SaveTicket> ticket, uint64_t bytes, Work work);

  // Throws the first failure that nobody has heard yet, as something that `tried` cannot pass over.
  void rethrow_failure(const std::string &tried);

  bool has(const std::string &id);
  uint64_t bytes();  // that those under way hold back
  // The one that is being saved, or is next.
  std::shared_ptr<SaveTicket> first();

 private:
  struct Save {
    std::shared_ptr<SaveTicket> ticket;
    uint64_t bytes;
    Work work;
  };
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Save> saves;  // the first one is under way
    std::vector<std::shared_ptr<SaveTicket>> failed;
    bool runs = false;
    std::thread thread;
  };

  static void run(State &state);

  const ForkGuard guard_;
  std::unique_ptr<State> state_;  // left to the parent in a child
};

}  // namespace det::context
