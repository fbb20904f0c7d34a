// What the contexts of one run need from its master. Two provide it: LiveRun, whose records are in
// this process, and the trials of core/master/rest, over HTTP.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/report.h"
#include "core/base/wake.h"
#include "core/engine/runs/run_info.h"

namespace det::engine {

enum class RunEnd { ok, error, invalid_hp };

// Being asked to stop.
class RunPreemption {
 public:
  virtual ~RunPreemption() = default;

  // Blocks until this run is asked to stop (true) or `wake` is set (false).
  virtual bool wait(const Wake &wake) = 0;
  // Afterwards: sees to it that the master takes this run as alive until `wake` is set (true).
  // False at once where nothing needs to be done for that.
  virtual bool keep_alive(const Wake &) { return false; }
  // The process itself was told to stop (a signal, the host): pending from now on, as if the master
  // had asked.
  virtual void note(const std::string &reason) = 0;
  // Throws Code::state where nobody asked it to stop.
  virtual void acknowledge() = 0;
};

// What the search asks of the run's trial.
class RunOperations {
 public:
  virtual ~RunOperations() = default;

  virtual SearchOperation current() = 0;
  // Throws Code::state where that is not its operation.
  virtual void complete(uint64_t length, const Json &metric) = 0;
  virtual void acknowledge_none_left() = 0;
};

// The checkpoints of the run's trial.
class RunCheckpoints {
 public:
  virtual ~RunCheckpoints() = default;

  virtual void report(const CheckpointReport &report) = 0;
  // One that could not be reported and is in the journal, as `sequence`: it may leave ahead of the
  // reports before it.
  virtual void send_ahead(uint64_t /*sequence*/, const CheckpointReport &) {}
  // As one that is complete.
  virtual bool knows(const std::string &id) = 0;
  // Whether it is of this library, which never stores one without a manifest.
  virtual bool has_made(const std::string &id) = 0;
  // Those that are complete, the one of the most steps first.
  virtual std::vector<CheckpointEntry> list() = 0;
  virtual std::optional<Json> metadata(const std::string &id) = 0;
  // The storage that it is in, as a configuration; nothing where this master does not tell.
  virtual std::optional<Json> storage_of(const std::string & /*id*/) { return std::nullopt; }

  // Before the first of its files goes: nobody starts from it any more. False where that was so
  // before, or where this master cannot be told.
  virtual bool withdraw(const std::string &id) = 0;
  // None of its files has gone after all. False where this master takes nothing back.
  virtual bool reinstate(const std::string &id) = 0;
  virtual void note_deleted(const std::string &id) = 0;
  // Withdraws what the experiment's configuration does not keep beside the checkpoints that were
  // reported since, except what is `held`: the caller deletes it. None where the master itself sees
  // to that.
  virtual std::vector<WithdrawnCheckpoint> withdraw_superseded(
      const std::set<std::string> & /*held*/) {
    return {};
  }
};

class RunBackend : public ReportSink {
 public:
  virtual const RunInfo &info() const = 0;
  virtual RunPreemption &preemption() = 0;
  virtual RunOperations &operations() = 0;
  virtual RunCheckpoints &checkpoints() = 0;

  // While the run starts: info() has not told of this one, which is the latest.
  virtual void begin_from(const CheckpointEntry &) {}

  // Why this rank cannot reach the master that its chief has, and what to do about it; then all
  // that needs one throws this as Code::unsupported. Empty where all is well.
  virtual std::string unreachable() const { return {}; }

  // The largest number of steps that it takes, of reports and checkpoints.
  virtual int64_t most_steps() const { return INT64_MAX; }

  // Where this rank keeps its journal and lock; local, private to it, removed by its owner once
  // everything is delivered.
  virtual std::filesystem::path run_directory() const = 0;
  virtual std::string journal_id() const = 0;
  // Where it keeps its regions for a trace. Empty where nobody could read them there.
  virtual std::filesystem::path trace_file() const { return {}; }

  // From now on a power cut takes nothing that was delivered, nor the record of this run: then what
  // is in the journal would belong to nobody.
  virtual void make_durable() {}

  // What the caller wants to keep with the trial: an object, replaced as a whole.
  virtual void set_metadata(const Json &metadata) = 0;
  virtual Json metadata() = 0;

  // False when a reason was reported before: that one stays.
  virtual bool report_early_exit(const std::string &reason) = 0;
  virtual std::optional<double> best_validation() = 0;
  // The steps of this trial's last validation.
  virtual std::optional<int64_t> last_validation() { return std::nullopt; }

  // The chief ends the run; another rank says how its part in it ended.
  virtual void end_run(RunEnd how) = 0;
};

}  // namespace det::engine
