// What a trial does next: train some batches, validate, save a checkpoint, or leave.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/trial/workloads/lengths.h"
#include "core/trial/workloads/workload.h"

namespace det::trial {

// After which validations there is a checkpoint.
enum class CheckpointPolicy { best, all, none };

struct SequencerConfig {
  Lengths lengths;
  Unit unit = Unit::none;         // of the searcher's lengths
  int64_t scheduling_unit = 100;  // most batches of a workload
  int64_t validation_period = endless;
  int64_t checkpoint_period = endless;
  CheckpointPolicy policy = CheckpointPolicy::best;
  bool initial_validation = false;
  std::string metric;  // the searcher's
  bool smaller_is_better = true;
};

// What is missing has the defaults of the original. Throws Code::invalid naming the key.
SequencerConfig read_sequencer_config(const Json &config, int64_t global_batch_size);

// What a sequencer asks of the Core API.
class CoreCalls {
 public:
  virtual ~CoreCalls() = default;

  virtual void warn(const std::string &text) = 0;
  virtual std::optional<int64_t> last_validation() = 0;  // its steps; nothing: none is known
  virtual std::optional<int64_t> next_operation() = 0;   // its length; nothing: no more work
  virtual void set_status(std::string_view status) = 0;
  virtual void report_training(int64_t steps, const Json &metrics,
                               const std::optional<Json> &batches) = 0;
  virtual void report_progress(double length) = 0;
  virtual void report_completed(const Json &metric) = 0;
  virtual void report_validation(int64_t steps, const Json &metrics) = 0;
  virtual void report_invalid_hparams() = 0;
  virtual std::optional<double> best_validation() = 0;
  virtual bool should_preempt() = 0;
};

// The chief's. Each workload that next() gives is answered once, by respond() or
// respond_invalid_hparams(). A call of the Core API that fails ends the sequence.
class Sequencer {
 public:
  // `core` is borrowed.
  Sequencer(SequencerConfig config, int64_t trial_id, CoreCalls &core);

  std::optional<Workload> next();

  // Throws as read_response() does, before anything is done.
  void respond(const Json &response);
  // Without a workload, too: of a trial that could not be made.
  void respond_invalid_hparams();

  // For a checkpoint; one that is saved for a workload describes itself as saved. Only before
  // the first next() a state can be loaded. That of another trial is ignored.
  Json state() const;
  void load_state(const Json &state);

 private:
  // What is looked at when the next workload is asked for.
  enum class Stage {
    start,
    operation,
    training,
    periodic_validation,
    periodic_checkpoint,
    final_checkpoint,
    final_validation,
    end_of_operation,
    leaving,
    ended,
    failed
  };

  std::optional<Workload> step();
  int64_t until_validation() const { return last_validated_ + config_.validation_period - steps_; }
  int64_t until_checkpoint() const { return last_saved_ + config_.checkpoint_period - steps_; }
  int64_t until_operation() const { return *operation_ - steps_; }
  Workload train();
  Workload validate(Stage then);
  Workload save(Stage then);
  void check_whole(const char *call) const;
  const Workload &pending(const char *call) const;
  double progress() const;
  bool is_better(double metric) const;

  // Whether training goes on.
  bool trained(const Response &response);
  bool validated(const Response &response);
  bool saved(const Response &response);

  const SequencerConfig config_;
  const int64_t trial_id_;
  CoreCalls &core_;
  const std::optional<int64_t> last_validation_;

  int64_t last_saved_ = 0;
  int64_t steps_ = 0;
  int64_t step_id_ = 0;
  int64_t last_validated_ = 0;

  Stage stage_ = Stage::start;
  std::optional<Workload> pending_;
  std::optional<int64_t> operation_;  // its end, in batches
  bool completed_ = false;
  bool wants_checkpoint_ = false;  // that a validation caused
  bool after_validation_ = false;  // the checkpoint is such a one
};

}  // namespace det::trial
