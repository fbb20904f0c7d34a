// A rank of a larger job, and a master that can be told what to answer.
#pragma once

#include <poll.h>
#include <deque>

#include "core/base/error.h"
#include "core/comm/communicator.h"
#include "core/master/master.h"

namespace det::test {

class FakeCommunicator : public Communicator {
 public:
  FakeCommunicator(int rank, int size) : Communicator({rank, size, rank, size, 0, 1}) {}

  std::optional<std::vector<Message>> gather(const Message &m) override { return {{m}}; }
  std::vector<Message> allgather(const Message &m) override { return {m}; }
  Message broadcast(const Message &m) override {
    ++broadcasts;
    if (is_chief()) return m;
    Message next = from_chief.front();
    from_chief.pop_front();
    return next;
  }
  std::optional<std::vector<Message>> gather_local(const Message &m) override { return {{m}}; }
  std::vector<Message> allgather_local(const Message &m) override { return {m}; }
  Message broadcast_local(const Message &m) override { return m; }

  int broadcasts = 0;
  std::deque<Message> from_chief;
};

class FakeMaster : public Master {
 public:
  Delivery deliver(const JournalKey &, std::span<const Report>) override { return {}; }
  const RunInfo &info() const override { return run; }
  std::filesystem::path run_directory() const override { return {}; }
  std::string journal_id() const override { return {}; }

  bool wait_preemption(const Wake &wake) override {
    pollfd events[] = {{wake.fd(), POLLIN, 0}, {signal.fd(), POLLIN, 0}};
    poll(events, 2, -1);
    return events[1].revents != 0;
  }
  void note_preemption(const std::string &reason) override {
    if (failing) throw Error(Code::busy, "the master is busy");
    noted = reason;
  }
  void acknowledge_preemption() override {
    if (failing) throw Error(Code::busy, "the master is busy");
    ++acknowledgements;
  }
  SearchOperation current_operation() override { return {}; }
  void complete_operation(uint64_t, const Json &) override {}
  void acknowledge_out_of_operations() override {}
  void report_checkpoint(const CheckpointReport &) override {}
  bool knows_checkpoint(const std::string &) override { return false; }
  std::optional<Json> checkpoint_metadata(const std::string &) override { return {}; }
  void checkpoint_deleted(const std::string &) override {}
  bool report_early_exit(const std::string &) override { return true; }
  std::optional<double> best_validation() override { return {}; }
  void end_run(RunEnd) override {}

  RunInfo run;
  Wake signal;
  std::atomic<bool> failing{false};
  std::atomic<int> acknowledgements{0};
  std::string noted;
};

}  // namespace det::test
