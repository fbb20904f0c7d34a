// The parts that all trial layers share: workloads, batch sizes, orders of batches, rules. See
// det/trial.h.
#pragma once

#include <det/trial.h>
#include <det/core.hpp>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace det {
inline namespace v1 {

enum class WorkloadKind : det_workload_kind {
  train = DET_WORKLOAD_TRAIN,
  validate = DET_WORKLOAD_VALIDATE,
  checkpoint = DET_WORKLOAD_CHECKPOINT,
};

struct Workload {
  WorkloadKind kind = WorkloadKind::train;
  int64_t step_id = 0;
  int64_t batches = 0;       // To train.
  int64_t batches_done = 0;  // Trained before this workload.
};

// All ranks make every call in step, except state().
class TrialSequencer {
 public:
  TrialSequencer() noexcept = default;
  explicit TrialSequencer(det_trial_sequencer *owned) noexcept : sequencer_(owned) {}

  // Without a configuration it takes that of the run.
  [[nodiscard]] static TrialSequencer create(const Core &core, int64_t global_batch_size,
                                             const Json &config = {}, OnFailure on = {}) {
    det_trial_sequencer *made = nullptr;
    detail::call(on, det_trial_sequencer_create, core.capi(), config.capi(), global_batch_size,
                 &made);
    return TrialSequencer(made);
  }

  // Nothing: the trial should leave.
  [[nodiscard]] std::optional<Workload> next(OnFailure on = {}) const {
    det_workload next = DET_WORKLOAD_INIT;
    if (detail::call(on, det_trial_sequencer_next, capi(), &next) != DET_OK) return std::nullopt;
    return Workload{static_cast<WorkloadKind>(next.kind), next.step_id, next.batches,
                    next.batches_done};
  }
  void respond(const Json &response, OnFailure on = {}) const {
    detail::call(on, det_trial_sequencer_respond, capi(), response.capi());
  }
  void respond_invalid_hparams(OnFailure on = {}) const {
    detail::call(on, det_trial_sequencer_respond_invalid_hparams, capi());
  }

  // On the chief.
  [[nodiscard]] Json state(OnFailure on = {}) const {
    return detail::answer(on, det_trial_sequencer_state, sequencer_.get());
  }
  void load_state(const Json &state, OnFailure on = {}) const {
    detail::call(on, det_trial_sequencer_load_state, capi(), state.capi());
  }

  [[nodiscard]] det_trial_sequencer *capi() const noexcept { return sequencer_.get(); }

 private:
  detail::Handle<det_trial_sequencer, det_trial_sequencer_free> sequencer_;
};

struct BatchSizes {
  int64_t per_slot = 0;
  int64_t global = 0;
  std::string warning;  // empty if that is the hyperparameter
};

[[nodiscard]] inline BatchSizes divide_batch(const Json &hparams, int64_t slots,
                                             Text trial_kind = "a trial", OnFailure on = {}) {
  BatchSizes sizes;
  char *warning = nullptr;
  detail::call(on, det_trial_batch_sizes, hparams.capi(), slots, trial_kind.c_str(),
               &sizes.per_slot, &sizes.global, &warning);
  sizes.warning = detail::taken(warning);
  return sizes;
}

// {"experiment_config": {}, "hparams": {}, "trial_seed": 0}. Without `hparams` it draws a sample.
[[nodiscard]] inline Json trial_env_from_config(const Json &config, uint32_t seed,
                                                const Json &hparams = {}, OnFailure on = {}) {
  return detail::answer(on, det_trial_env_from_config, config.capi(), hparams.capi(), seed);
}

struct SamplerOptions {
  int64_t length = 0;  // batches of an epoch, over all shards
  int64_t shard = 0;
  int64_t shards = 1;
  int64_t skip = 0;  // batches that this shard has trained on before
  bool shuffle = false;
  uint32_t seed = 0;
};

class Sampler {
 public:
  Sampler() noexcept = default;
  explicit Sampler(det_trial_sampler *owned) noexcept : sampler_(owned) {}

  [[nodiscard]] static Sampler create(const SamplerOptions &options, OnFailure on = {}) {
    det_trial_sampler_options given = DET_TRIAL_SAMPLER_OPTIONS_INIT;
    given.length = options.length;
    given.shard = options.shard;
    given.shards = options.shards;
    given.skip = options.skip;
    given.shuffle = options.shuffle ? 1 : 0;
    given.seed = options.seed;
    det_trial_sampler *made = nullptr;
    detail::call(on, det_trial_sampler_create, &given, &made);
    return Sampler(made);
  }

  // Returns nothing at the end of an epoch. Another one follows.
  [[nodiscard]] std::optional<int64_t> next(OnFailure on = {}) const {
    int64_t index = 0;
    if (detail::call(on, det_trial_sampler_next, capi(), &index) != DET_OK) return std::nullopt;
    return index;
  }

  [[nodiscard]] det_trial_sampler *capi() const noexcept { return sampler_.get(); }

 private:
  detail::Handle<det_trial_sampler, det_trial_sampler_free> sampler_;
};

enum class MonitorMode : det_monitor_mode {
  by_name = DET_MONITOR_BY_NAME,
  min = DET_MONITOR_MIN,
  max = DET_MONITOR_MAX,
};

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  double min_delta = 0;
  std::optional<double> baseline;
  MonitorMode mode = MonitorMode::by_name;
  int32_t patience = 0;
  int32_t start_from = 0;
};

class EarlyStopping {
 public:
  struct Result {
    bool stop = false;
    bool improved = false;
  };

  EarlyStopping() noexcept = default;
  explicit EarlyStopping(det_trial_early_stopping *owned) noexcept : rule_(owned) {}

  [[nodiscard]] static EarlyStopping create(const EarlyStoppingOptions &options,
                                            OnFailure on = {}) {
    det_trial_early_stopping_options given = DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT;
    given.monitor = options.monitor.c_str();
    given.min_delta = options.min_delta;
    given.baseline = options.baseline ? &*options.baseline : nullptr;
    given.mode = static_cast<det_monitor_mode>(options.mode);
    given.patience = options.patience;
    given.start_from = options.start_from;
    det_trial_early_stopping *made = nullptr;
    detail::call(on, det_trial_early_stopping_create, &given, &made);
    return EarlyStopping(made);
  }

  // Call it after each validation, without a value if that had no such metric.
  [[nodiscard]] Result update(std::optional<double> value, OnFailure on = {}) const {
    int32_t stop = 0, improved = 0;
    detail::call(on, det_trial_early_stopping_update, capi(), value ? &*value : nullptr, &stop,
                 &improved);
    return {stop != 0, improved != 0};
  }
  [[nodiscard]] Json state(OnFailure on = {}) const {
    return detail::answer(on, det_trial_early_stopping_state, rule_.get());
  }
  void load_state(const Json &state, OnFailure on = {}) const {
    detail::call(on, det_trial_early_stopping_load_state, capi(), state.capi());
  }

  [[nodiscard]] det_trial_early_stopping *capi() const noexcept { return rule_.get(); }

 private:
  detail::Handle<det_trial_early_stopping, det_trial_early_stopping_free> rule_;
};

struct PlateauOptions {
  std::string monitor = "val_loss";
  double factor = 0.1;
  double min_delta = 1e-4;
  double min_learning_rate = 0;
  MonitorMode mode = MonitorMode::by_name;
  int32_t patience = 10;
  int32_t cooldown = 0;
};

class Plateau {
 public:
  Plateau() noexcept = default;
  explicit Plateau(det_trial_plateau *owned) noexcept : rule_(owned) {}

  [[nodiscard]] static Plateau create(const PlateauOptions &options, OnFailure on = {}) {
    det_trial_plateau_options given = DET_TRIAL_PLATEAU_OPTIONS_INIT;
    given.monitor = options.monitor.c_str();
    given.factor = options.factor;
    given.min_delta = options.min_delta;
    given.min_learning_rate = options.min_learning_rate;
    given.mode = static_cast<det_monitor_mode>(options.mode);
    given.patience = options.patience;
    given.cooldown = options.cooldown;
    det_trial_plateau *made = nullptr;
    detail::call(on, det_trial_plateau_create, &given, &made);
    return Plateau(made);
  }

  // Returns the learning rate to continue with. Without a value the validation had no such metric.
  [[nodiscard]] double update(std::optional<double> value, double learning_rate,
                              OnFailure on = {}) const {
    detail::call(on, det_trial_plateau_update, capi(), value ? &*value : nullptr, &learning_rate,
                 nullptr);
    return learning_rate;
  }
  [[nodiscard]] Json state(OnFailure on = {}) const {
    return detail::answer(on, det_trial_plateau_state, rule_.get());
  }
  void load_state(const Json &state, OnFailure on = {}) const {
    detail::call(on, det_trial_plateau_load_state, capi(), state.capi());
  }

  [[nodiscard]] det_trial_plateau *capi() const noexcept { return rule_.get(); }

 private:
  detail::Handle<det_trial_plateau, det_trial_plateau_free> rule_;
};

}  // namespace v1
}  // namespace det
