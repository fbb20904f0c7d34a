// The ranks of one job as threads of this process, joined as processes would be: over sockets.
#pragma once

#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/comm/join/join.h"
#include "tests/free_port.h"
#include "tests/patience.h"

namespace det::test {

// Ranks of `nodes` machines with `per_node` ranks each, numbered machine by machine.
inline comm::Ranks ranks_of(int rank, int nodes, int per_node) {
  return {rank, nodes * per_node, rank % per_node, per_node, rank / per_node, nodes};
}

// What ranks that say their numbers have said.
inline std::vector<comm::Message> numbers(int first, int count) {
  std::vector<comm::Message> list;
  for (int i = 0; i < count; ++i) list.emplace_back(std::to_string(first + i));
  return list;
}

// cmocka's assertions leave a function by longjmp, which only the main thread may do.
inline void require(bool condition, const std::string &what) {
  if (!condition) throw std::logic_error("not so: " + what);
}

inline std::string text_of(const std::exception_ptr &thrown) {
  if (!thrown) return "";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception &e) {
    return e.what();
  }
}

inline Code code_of(const std::exception_ptr &thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error &e) {
    return e.code;
  } catch (const std::exception &) {
  }
  return Code::internal;
}

// What the ranks threw, in rank order; null where nothing was.
struct Outcome : std::vector<std::exception_ptr> {
  using vector::vector;
  std::string text(int rank) const { return text_of((*this)[static_cast<size_t>(rank)]); }
  Code code(int rank) const { return code_of((*this)[static_cast<size_t>(rank)]); }
  std::string all() const {
    std::string all;
    for (size_t rank = 0; rank < size(); ++rank)
      if ((*this)[rank])
        all += "rank " + std::to_string(rank) + ": " + text_of((*this)[rank]) + "\n";
    return all;
  }
};

// Runs `work` for each rank on a thread of its own, until all are done.
inline Outcome run_threads(int size, const std::function<void(int)> &work) {
  Outcome outcome(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        outcome[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  return outcome;
}

struct JobOptions {
  bool force_tcp = false;
  std::chrono::milliseconds timeout{TEST_PATIENCE_MS};
};

// Runs `work` on every rank of a job.
inline Outcome run_ranks(int nodes, int per_node,
                         const std::function<void(comm::Communicator &)> &work,
                         const JobOptions &job = {}) {
  setenv("DET_DISTRIBUTED_SECRET", "of the tests", 1);
  const int port = free_port();
  return run_threads(nodes * per_node, [&](int rank) {
    comm::Launch launch;
    launch.ranks = ranks_of(rank, nodes, per_node);
    launch.chief_ip = "127.0.0.1";
    work(*comm::join(launch, {port, 0, job.force_tcp, job.timeout}));
  });
}

}  // namespace det::test
