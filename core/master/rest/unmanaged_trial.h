// A trial that no cluster schedules: this process is on its own and only reports. Its master never
// asks it to stop, and takes it for dead without a heartbeat.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "core/codec/trial.h"
#include "core/master/rest/rest_trial.h"

namespace det::master {

// Any thread.
class UnmanagedPreemption : public engine::RunPreemption {
 public:
  UnmanagedPreemption(MasterSession &session, const RestRun &run, Logger &logger)
      : session_(session), run_(run), logger_(logger) {}

  // Both send the heartbeat meanwhile. One thread at a time.
  bool wait(const Wake &wake) override;
  bool keep_alive(const Wake &wake) override;
  void note(const std::string &reason) override;
  void acknowledge() override { acknowledged_ = true; }
  bool is_acknowledged() const { return acknowledged_; }
  // Whether the master took the last heartbeat.
  bool is_alive() const { return !beat_failed_; }

 private:
  void beat(const Wake &wake);

  MasterSession &session_;
  const RestRun &run_;
  Logger &logger_;
  std::chrono::steady_clock::time_point next_beat_{};  // of the thread that waits
  std::atomic<bool> beat_failed_{false};
  std::atomic<bool> acknowledged_{false};
};

// Any thread.
class UnmanagedOperations : public engine::RunOperations {
 public:
  explicit UnmanagedOperations(const RestRun &run) : run_(run) {}

  engine::SearchOperation current() override;
  void complete(uint64_t, const Json &) override { completed_ = true; }
  void acknowledge_none_left() override {}

 private:
  const RestRun &run_;
  std::atomic<bool> completed_{false};  // the one operation
};

class UnmanagedTrial : public RestTrial {
 public:
  UnmanagedTrial(std::shared_ptr<MasterSession> session, RestRun run,
                 std::shared_ptr<Logger> logger)
      : RestTrial(std::move(session), std::move(run), std::move(logger)) {}

  engine::RunPreemption &preemption() override { return preemption_; }
  engine::RunOperations &operations() override { return operations_; }
  bool report_early_exit(const std::string &reason) override;
  void end_run(engine::RunEnd how) override;

 private:
  codec::TrialState state_after(engine::RunEnd how) const;
  bool is_error_by_another_rank();

  UnmanagedPreemption preemption_{session(), run(), logger()};
  UnmanagedOperations operations_{run()};
};

}  // namespace det::master
