// A trial that the master's cluster has started: it decides on the search and on when to stop, and
// goes by the exit code of the process.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/master/rest/rest_trial.h"

namespace det::master {

// Any thread.
class ManagedPreemption : public engine::RunPreemption {
 public:
  ManagedPreemption(MasterSession &session, const RestRun &run, Logger &logger)
      : session_(session), run_(run), logger_(logger) {}

  bool wait(const Wake &wake) override;  // one thread at a time
  void note(const std::string &reason) override;
  void acknowledge() override;

 private:
  bool poll(const Wake &wake, int64_t timeout_seconds);
  bool is_asked_now();

  MasterSession &session_;
  const RestRun &run_;
  Logger &logger_;
  bool polled_ = false;  // of the thread that waits
  bool poll_failed_ = false;
  std::atomic<bool> asked_{false};  // by the master, to stop
};

// Any thread.
class ManagedOperations : public engine::RunOperations {
 public:
  ManagedOperations(MasterSession &session, const RestRun &run, RestDelivery &delivery)
      : session_(session), run_(run), delivery_(delivery) {}

  engine::SearchOperation current() override;
  void complete(uint64_t length, const Json &metric) override;
  void acknowledge_none_left() override;

 private:
  engine::SearchOperation ask();

  MasterSession &session_;
  const RestRun &run_;
  RestDelivery &delivery_;
  std::mutex mutex_;                // of what follows
  bool completed_ = false;          // the operation of a master that gives none
  bool out_of_operations_ = false;  // the master said so
};

class ManagedTrial : public RestTrial {
 public:
  ManagedTrial(std::shared_ptr<MasterSession> session, RestRun run, std::shared_ptr<Logger> logger)
      : RestTrial(std::move(session), std::move(run), std::move(logger)) {}

  engine::RunPreemption &preemption() override { return preemption_; }
  engine::RunOperations &operations() override { return operations_; }
  bool report_early_exit(const std::string &reason) override;
  void end_run(engine::RunEnd how) override;

 private:
  ManagedPreemption preemption_{session(), run(), logger()};
  ManagedOperations operations_{session(), run(), delivery()};
};

}  // namespace det::master
