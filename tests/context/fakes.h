// Ranks whose collectives are counted, and a master that can be told what to answer.
#pragma once

#include <poll.h>

#include <atomic>
#include <deque>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/comm/communicator.h"
#include "core/engine/runs/run_backend.h"
#include "tests/cmocka.h"
#include "tests/comm/ranks.h"

namespace det::test {

// Stands before the communicator of a rank.
class CountingCommunicator : public comm::Communicator {
 public:
  explicit CountingCommunicator(comm::Communicator &real)
      : comm::Communicator(real.ranks()), real_(real) {}

  std::optional<std::vector<comm::Message>> gather(const comm::MessageView &m,
                                                   const comm::Call &call) override {
    ++others;
    return real_.gather(m, call);
  }
  std::vector<comm::Message> allgather(const comm::MessageView &m,
                                       const comm::Call &call) override {
    ++others;
    return real_.allgather(m, call);
  }
  comm::Message broadcast(const comm::MessageView &m, const comm::Call &call) override {
    ++broadcasts;
    return real_.broadcast(m, call);
  }
  std::optional<std::vector<comm::Message>> gather_local(const comm::MessageView &m,
                                                         const comm::Call &call) override {
    ++others;
    return real_.gather_local(m, call);
  }
  std::vector<comm::Message> allgather_local(const comm::MessageView &m,
                                             const comm::Call &call) override {
    ++others;
    return real_.allgather_local(m, call);
  }
  comm::Message broadcast_local(const comm::MessageView &m, const comm::Call &call) override {
    ++others;
    return real_.broadcast_local(m, call);
  }

  int broadcasts = 0;
  int others = 0;

 private:
  comm::Communicator &real_;
};

class FakeMaster : public engine::RunBackend,
                   public engine::RunPreemption,
                   public engine::RunOperations,
                   public engine::RunCheckpoints {
 public:
  explicit FakeMaster(std::string why_unreachable = {}) : far_away(std::move(why_unreachable)) {}

  Delivery deliver(const JournalKey &, std::span<const Report>) override { return {}; }
  const engine::RunInfo &info() const override { return run; }
  engine::RunPreemption &preemption() override { return *this; }
  engine::RunOperations &operations() override { return *this; }
  engine::RunCheckpoints &checkpoints() override { return *this; }
  std::string unreachable() const override { return far_away; }
  std::filesystem::path run_directory() const override { return {}; }
  std::string journal_id() const override { return {}; }

  bool wait(const Wake &wake) override {
    ++calls;
    pollfd events[] = {{wake.fd(), POLLIN, 0}, {signal.fd(), POLLIN, 0}};
    poll(events, 2, -1);
    return events[1].revents != 0;
  }
  void note(const std::string &reason) override {
    answer();
    noted = reason;
  }
  void acknowledge() override {
    answer();
    ++acknowledgements;
  }
  engine::SearchOperation current() override {
    answer();
    return {lengths.front(), lengths.size() == 1 && completed};
  }
  void complete(uint64_t, const Json &) override {
    answer();
    if (lengths.size() > 1) lengths.pop_front();
    else completed = true;
  }
  void acknowledge_none_left() override {
    answer();
    if (!late.empty()) {
      completed = false;
      lengths = std::exchange(late, {});
      throw Error(Code::state, "its operation is not completed");
    }
    ++out_of_operations;
  }
  void report(const engine::CheckpointReport &) override {}
  bool knows(const std::string &) override { return false; }
  std::vector<engine::CheckpointEntry> list() override { return {}; }
  std::optional<Json> metadata(const std::string &) override { return {}; }
  bool has_made(const std::string &) override { return false; }
  bool withdraw(const std::string &) override { return false; }
  bool reinstate(const std::string &) override { return false; }
  void note_deleted(const std::string &) override {}
  void set_metadata(const Json &) override {}
  Json metadata() override { return Json::object(); }
  bool report_early_exit(const std::string &) override { return true; }
  std::optional<double> best_validation() override { return {}; }
  void end_run(engine::RunEnd) override {}

  engine::RunInfo run;
  Wake signal;
  std::deque<uint64_t> lengths{1};
  std::deque<uint64_t> late;  // decided between the question and the acknowledgement
  bool completed = false;
  std::atomic<bool> failing{false};
  std::atomic<int> calls{0};  // whatever was asked of it
  std::atomic<int> acknowledgements{0};
  std::atomic<int> out_of_operations{0};
  std::string noted;
  std::string far_away;  // why this rank cannot reach the chief's store

 private:
  void answer() {
    ++calls;
    if (failing) throw Error(Code::busy, "the master is busy");
  }
};

// For the ranks' threads, where cmocka's assertions cannot be.
#define REQUIRE(condition) det::test::require(condition, #condition)

// The code with which `call` fails, internal for none; its message has `fragment`.
template <class Call>
Code failure_of(const Call &call, const std::string &fragment = "") {
  try {
    call();
  } catch (const Error &e) {
    if (std::string(e.what()).find(fragment) == std::string::npos)
      throw std::runtime_error("'" + fragment + "' is not in '" + e.what() + "'");
    return e.code;
  }
  return Code::internal;
}

// What run_ranks() gave: no rank threw.
inline void assert_no_failure(const std::vector<std::exception_ptr> &thrown) {
  for (size_t rank = 0; rank < thrown.size(); ++rank) {
    try {
      if (thrown[rank]) std::rethrow_exception(thrown[rank]);
    } catch (const std::exception &e) {
      fail_msg("rank %zu: %s", rank, e.what());
    }
  }
}

}  // namespace det::test
