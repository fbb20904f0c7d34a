// A trial that no cluster schedules: this process is on its own and only reports. Its master never
// asks it to stop, and takes it for dead without a heartbeat.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "core/codec/trial.h"
#include "core/master/rest/rest_trial.h"

namespace det::master {

class UnmanagedTrial : public RestTrial {
 public:
  using RestTrial::RestTrial;

  // Both send the heartbeat meanwhile.
  bool wait_preemption(const Wake &wake) override;
  bool keep_alive(const Wake &wake) override;
  void note_preemption(const std::string &reason) override;
  void acknowledge_preemption() override { acknowledged_ = true; }

  engine::SearchOperation current_operation() override;
  void complete_operation(uint64_t length, const Json &metric) override;
  void acknowledge_out_of_operations() override {}

  bool report_early_exit(const std::string &reason) override;
  void end_run(RunEnd how) override;

 private:
  void beat(const Wake &wake);
  codec::TrialState state_after(RunEnd how) const;
  bool is_error_by_another_rank();

  std::chrono::steady_clock::time_point next_beat_{};  // of the thread that waits
  std::atomic<bool> beat_failed_{false};
  std::atomic<bool> acknowledged_{false};
  std::atomic<bool> completed_{false};  // the one operation
};

}  // namespace det::master
