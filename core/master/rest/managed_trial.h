// A trial that the master's cluster has started: it decides on the search and on when to stop, and
// goes by the exit code of the process.
#pragma once

#include <atomic>
#include <mutex>

#include "core/master/rest/rest_trial.h"

namespace det::master {

class ManagedTrial : public RestTrial {
 public:
  using RestTrial::RestTrial;

  bool wait_preemption(const Wake &wake) override;
  void note_preemption(const std::string &reason) override;
  void acknowledge_preemption() override;

  engine::SearchOperation current_operation() override;
  void complete_operation(uint64_t length, const Json &metric) override;
  void acknowledge_out_of_operations() override;

  bool report_early_exit(const std::string &reason) override;
  void end_run(RunEnd how) override;

 private:
  bool poll(const Wake &wake, int64_t timeout_seconds);
  bool is_asked_now();
  engine::SearchOperation ask_operation();

  bool polled_ = false;  // of the thread that waits
  bool poll_failed_ = false;
  std::atomic<bool> asked_{false};  // by the master, to stop

  std::mutex mutex_;                // of the search
  bool completed_ = false;          // the operation of a master that gives none
  bool out_of_operations_ = false;  // the master said so
};

}  // namespace det::master
