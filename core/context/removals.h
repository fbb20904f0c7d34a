// Removals that nobody waits for: one after the other, on a thread that is there while there are
// any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fork_guard.h"
#include "core/engine/run_info.h"

namespace det::context {

class Removals {
 public:
  using Remove = std::function<void(const engine::WithdrawnCheckpoint &one)>;

  // What these throw is told to nobody; `done` follows when none is left.
  Removals(Remove remove, std::function<void()> done);
  ~Removals();  // waits for the one that is under way, but not in a forked child
  Removals(const Removals &) = delete;
  Removals &operator=(const Removals &) = delete;

  // Throws Code::full where there is no thread to be had: then none of them is pending.
  void add(const std::vector<engine::WithdrawnCheckpoint> &withdrawn);
  std::set<std::string> pending();
  // Until one, or all of them, are no longer pending; false at the end of `limit`.
  void await(const std::string &id);
  bool await_all(std::chrono::milliseconds limit);

 private:
  struct State {
    Remove remove;
    std::function<void()> done;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<engine::WithdrawnCheckpoint> waiting;  // the first one is under way
    bool runs = false, stops = false;
    std::thread thread;
  };

  static void run(State &state);

  const ForkGuard guard_;
  std::unique_ptr<State> state_;  // left to the parent in a child
};

}  // namespace det::context
