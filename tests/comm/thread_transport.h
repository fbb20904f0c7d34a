// A caller's transport: the ranks are threads, the network is a queue for each pair of them.
#pragma once

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "core/comm/functions.h"
#include "core/comm/joined.h"
#include "tests/comm/ranks.h"
#include "tests/patience.h"

namespace det::test {

class ThreadNetwork {
 public:
  ThreadNetwork(int size, bool any_pair, bool shares_memory = false)
      : any_pair_(any_pair), shares_memory_(shares_memory) {
    for (int rank = 0; rank < size; ++rank) seats_.push_back({this, rank});
  }

  Outcome run(int nodes, int per_node, const std::function<void(comm::Communicator &)> &work,
              std::chrono::milliseconds timeout = std::chrono::seconds(TEST_PATIENCE_SECONDS)) {
    return run_threads(nodes * per_node, [&](int rank) {
      if (nodes * per_node == 1) return work(*comm::make_single_communicator());
      work(*comm::make_joined_communicator(
          ranks_of(rank, nodes, per_node),
          comm::make_function_transport(functions(), &seats_[static_cast<size_t>(rank)]), timeout));
    });
  }

  int destroyed() const { return destroyed_; }
  size_t messages() const { return messages_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Seat {
    ThreadNetwork *network;
    int rank;
  };
  using Line = std::tuple<int, int, int>;  // from, to, channel

  comm::TransportFunctions functions() const {
    comm::TransportFunctions functions;
    functions.send = [](int32_t peer, int32_t channel, const void *data, size_t size, int64_t,
                        void *user_data) {
      const auto *seat = static_cast<Seat *>(user_data);
      const std::lock_guard guard(seat->network->mutex_);
      seat->network->lines_[{seat->rank, peer, channel}].emplace_back(
          static_cast<const char *>(data), size);
      ++seat->network->messages_;
      seat->network->bytes_ += size;
      seat->network->changed_.notify_all();
      return 0;
    };
    functions.receive = [](int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                           int64_t timeout_ms, void *user_data) {
      const auto *seat = static_cast<Seat *>(user_data);
      std::unique_lock lock(seat->network->mutex_);
      auto &line = seat->network->lines_[{peer, seat->rank, channel}];
      if (!seat->network->changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                            [&] { return !line.empty(); }))
        return ETIMEDOUT;
      *size = line.front().size();
      std::memcpy(data, line.front().data(), std::min(capacity, *size));
      line.pop_front();
      return *size <= capacity ? 0 : EMSGSIZE;
    };
    functions.destroy = [](void *user_data) {
      const std::lock_guard guard(static_cast<Seat *>(user_data)->network->mutex_);
      ++static_cast<Seat *>(user_data)->network->destroyed_;
    };
    functions.any_pair = any_pair_;
    functions.shares_memory = shares_memory_;
    return functions;
  }

  const bool any_pair_, shares_memory_;
  std::vector<Seat> seats_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Line, std::deque<std::string>> lines_;
  int destroyed_ = 0;
  size_t messages_ = 0, bytes_ = 0;
};

}  // namespace det::test
