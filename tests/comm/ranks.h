// The ranks of one job as threads of this process.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/comm/communicator.h"

namespace det::test {

// Ranks of `nodes` machines with `per_node` ranks each, numbered machine by machine.
inline Ranks ranks_of(int rank, int nodes, int per_node) {
  return {rank, nodes * per_node, rank % per_node, per_node, rank / per_node, nodes};
}

// What the ranks of one group put side by side.
class Board {
 public:
  explicit Board(int size) : size_(size) {}

  std::vector<Message> exchange(int index, const Message &message) {
    std::unique_lock lock(mutex_);
    arriving_.resize(static_cast<size_t>(size_));
    arriving_[static_cast<size_t>(index)] = message;
    const int round = round_;
    if (++arrived_ == size_) {
      complete_ = std::move(arriving_);
      arriving_.clear();
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round; });
    }
    return complete_;
  }

 private:
  const int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  int round_ = 0;
  std::vector<Message> arriving_, complete_;
};

class BoardCommunicator : public Communicator {
 public:
  BoardCommunicator(const Ranks &ranks, Board &all, Board &node)
      : Communicator(ranks), all_(all), node_(node) {}

  std::optional<std::vector<Message>> gather(const Message &message) override {
    auto list = allgather(message);
    if (!is_chief()) return std::nullopt;
    return list;
  }
  std::vector<Message> allgather(const Message &message) override {
    return all_.exchange(ranks().rank, message);
  }
  Message broadcast(const Message &message) override { return allgather(message)[0]; }
  std::optional<std::vector<Message>> gather_local(const Message &message) override {
    auto list = allgather_local(message);
    if (!is_local_chief()) return std::nullopt;
    return list;
  }
  std::vector<Message> allgather_local(const Message &message) override {
    return node_.exchange(ranks().local_rank, message);
  }
  Message broadcast_local(const Message &message) override { return allgather_local(message)[0]; }

 private:
  Board &all_, &node_;
};

// Runs `work` on every rank, each a thread, until all are done; gives what each threw (null:
// nothing).
inline std::vector<std::exception_ptr> run_ranks(int nodes, int per_node,
                                                 const std::function<void(Communicator &)> &work) {
  const int size = nodes * per_node;
  Board all(size);
  std::vector<std::unique_ptr<Board>> machines;
  for (int node = 0; node < nodes; ++node) machines.push_back(std::make_unique<Board>(per_node));
  std::vector<std::exception_ptr> thrown(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      BoardCommunicator communicator(ranks_of(rank, nodes, per_node), all,
                                     *machines[static_cast<size_t>(rank / per_node)]);
      try {
        work(communicator);
      } catch (...) {
        thrown[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  return thrown;
}

}  // namespace det::test
