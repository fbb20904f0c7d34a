// A run over HTTP as one of its ranks sees it: what trials of a cluster and those on their own have
// in common.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "core/base/log/log.h"
#include "core/base/process/process.h"
#include "core/base/wake.h"
#include "core/codec/checkpoints.h"
#include "core/engine/runs/run_backend.h"
#include "core/master/rest/delivery.h"
#include "core/master/rest/master_session.h"

namespace det::master {

struct RestRun {
  engine::RunInfo info;
  bool managed = true;
  int rank = 0;
  int size = 1;
  std::optional<int64_t> storage_id;  // for checkpoint reports
  std::filesystem::path directory;    // where it keeps its journal, on this machine
  std::string journal_id;
  OwnerLock owner;

  ReportOrigin origin() const;
};

// Any thread.
class RestCheckpoints : public engine::RunCheckpoints {
 public:
  RestCheckpoints(MasterSession &session, const RestRun &run, RestDelivery &delivery)
      : session_(session), run_(run), delivery_(delivery) {}

  void report(const engine::CheckpointReport &report) override;
  void send_ahead(uint64_t sequence, const engine::CheckpointReport &report) override;
  bool knows(const std::string &id) override;
  bool has_made(const std::string &id) override;
  std::vector<engine::CheckpointEntry> list() override;
  std::optional<Json> metadata(const std::string &id) override;
  bool withdraw(const std::string &id) override;
  bool reinstate(const std::string &) override { return false; }
  void note_deleted(const std::string &) override {}  // withdrawn is all it can be

 private:
  void note_reported(const std::string &id);

  MasterSession &session_;
  const RestRun &run_;
  RestDelivery &delivery_;
  std::mutex mutex_;                // of what follows
  std::set<std::string> reported_;  // by this process
};

class RestTrial : public engine::RunBackend {
 public:
  RestTrial(std::shared_ptr<MasterSession> session, RestRun run, std::shared_ptr<Logger> logger);
  ~RestTrial() override;

  const engine::RunInfo &info() const override { return run_.info; }
  engine::RunCheckpoints &checkpoints() override { return checkpoints_; }
  void begin_from(const engine::CheckpointEntry &latest) override {
    run_.info.latest_checkpoint = latest.id;
    run_.info.steps_completed = latest.steps;
  }
  int64_t most_steps() const override { return INT32_MAX; }  // a column of 32 bits
  std::filesystem::path run_directory() const override { return run_.directory; }
  std::string journal_id() const override { return run_.journal_id; }

  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override;
  void on_progress(std::function<void(uint64_t)> tell) override;
  void end_by(std::chrono::steady_clock::time_point time) override;

  void set_metadata(const Json &metadata) override;
  Json metadata() override;
  std::optional<double> best_validation() override;
  std::optional<int64_t> last_validation() override;

 protected:
  MasterSession &session() { return *session_; }
  const RestRun &run() const { return run_; }
  Logger &logger() { return *logger_; }
  RestDelivery &delivery() { return delivery_; }
  // After what is still to be sent: without journals the directory goes.
  void remove_directory();

 private:
  const std::shared_ptr<MasterSession> session_;
  RestRun run_;
  const std::shared_ptr<Logger> logger_;
  RestDelivery delivery_;
  RestCheckpoints checkpoints_;
};

// Waits until then, or until `wake` is set: true.
bool wait_until(std::chrono::steady_clock::time_point then, const Wake &wake);

}  // namespace det::master
