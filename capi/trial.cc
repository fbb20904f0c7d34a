#include <det/trial.h>

#include "capi/guard.h"
#include "capi/handles.h"
#include "core/trial/rules/batch_sampler.h"
#include "core/trial/rules/batch_sizes.h"
#include "core/trial/rules/validation_rules.h"
#include "core/trial/workloads/job_sequencer.h"
#include "core/trial/workloads/offline_environment.h"

static_assert(static_cast<int>(det::trial::Workload::Kind::checkpoint) == DET_WORKLOAD_CHECKPOINT);
static_assert(static_cast<int>(det::trial::MonitorMode::max) == DET_MONITOR_MAX);

struct det_trial_sequencer {
  std::shared_ptr<det::context::Core> core;
  det::trial::JobSequencer impl;
};

struct det_trial_sampler {
  det::trial::Sampler impl;
};

struct det_trial_early_stopping {
  det::trial::EarlyStopping impl;
};

struct det_trial_plateau {
  det::trial::Plateau impl;
};

namespace {

using det::Json;

Json object_or_empty(const char *given, const char *name) {
  return given != nullptr ? det::parse_json_object(given, name) : Json::object();
}

det::trial::MonitorMode mode_from(det_monitor_mode mode) {
  if (mode < DET_MONITOR_BY_NAME || mode > DET_MONITOR_MAX)
    throw det::Error(det::Code::invalid,
                     "making a rule: there is no monitor mode " + std::to_string(mode));
  return static_cast<det::trial::MonitorMode>(mode);
}

std::optional<double> value_or_none(const double *value) {
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

template <class Rule>
det_status give_state(const Rule *rule, char **out_json, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(det::to_metadata_text(deref(rule, "rule").impl.state())); });
  });
}

template <class Rule>
det_status take_state(Rule *rule, const char *state_json, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(rule, "rule")
        .impl.load_state(det::parse_json_object(text(state_json, "state_json"), "state_json"));
  });
}

}  // namespace

det_status det_trial_sequencer_create(det_core *core, const char *config_json,
                                      int64_t global_batch_size, det_trial_sequencer **out,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const std::shared_ptr<det::context::Core> run = deref(core, "core").impl;
      run->check_process();
      const auto config = [&] {
        return config_json != nullptr ? det::parse_json_object(config_json, "config_json")
                                      : run->info().run().config;
      };
      return new det_trial_sequencer{
          run, det::trial::JobSequencer::of_run(*run, config, global_batch_size)};
    });
  });
}

det_status det_trial_sequencer_next(det_trial_sequencer *sequencer, det_workload *out,
                                    det_error *err) noexcept {
  return answered(err, [&] {
    read_options<det_workload>(&deref(out, "out"), DET_WORKLOAD_INIT, "workload");
    const size_t size = std::min(out->struct_size, sizeof(det_workload));
    const std::optional<det::trial::Workload> next = deref(sequencer, "sequencer").impl.next();
    if (!next) return DET_DONE;
    const det_workload workload{out->struct_size,
                                static_cast<det_workload_kind>(next->kind),
                                0,
                                next->step_id,
                                next->batches,
                                next->batches_done};
    std::memcpy(out, &workload, size);
    return DET_OK;
  });
}

det_status det_trial_sequencer_respond(det_trial_sequencer *sequencer, const char *response_json,
                                       det_error *err) noexcept {
  return guarded(err, [&] {
    deref(sequencer, "sequencer").impl.respond([&] {
      return object_or_empty(response_json, "response_json");
    });
  });
}

det_status det_trial_sequencer_respond_invalid_hparams(det_trial_sequencer *sequencer,
                                                       det_error *err) noexcept {
  return guarded(err, [&] { deref(sequencer, "sequencer").impl.respond_invalid_hparams(); });
}

det_status det_trial_sequencer_state(const det_trial_sequencer *sequencer, char **out_json,
                                     det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json",
         [&] { return copy_text(det::to_wire(deref(sequencer, "sequencer").impl.state())); });
  });
}

det_status det_trial_sequencer_load_state(det_trial_sequencer *sequencer, const char *state_json,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    deref(sequencer, "sequencer").impl.load_state([&] {
      return det::parse_json_object(text(state_json, "state_json"), "state_json");
    });
  });
}

void det_trial_sequencer_free(det_trial_sequencer *sequencer) noexcept { delete sequencer; }

det_status det_trial_batch_sizes(const char *hparams_json, int64_t slots, const char *trial_kind,
                                 int64_t *out_per_slot, int64_t *out_global, char **out_warning,
                                 det_error *err) noexcept {
  return guarded(err, [&] {
    clear(out_per_slot, out_global, out_warning);
    int64_t &per_slot = deref(out_per_slot, "out_per_slot");
    int64_t &global = deref(out_global, "out_global");
    const det::trial::BatchSizes sizes = det::trial::divide_batch(
        det::parse_json_object(text(hparams_json, "hparams_json"), "hparams_json"), slots,
        trial_kind != nullptr ? trial_kind : "a trial");
    if (out_warning != nullptr && !sizes.warning.empty()) *out_warning = copy_text(sizes.warning);
    per_slot = sizes.per_slot;
    global = sizes.global;
  });
}

det_status det_trial_env_from_config(const char *config_json, const char *hparams_json,
                                     uint32_t seed, char **out_json, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out_json, "out_json", [&] {
      std::optional<Json> hparams;
      if (hparams_json != nullptr) hparams = det::parse_json_object(hparams_json, "hparams_json");
      return copy_text(det::to_metadata_text(det::trial::offline_environment(
          object_or_empty(config_json, "config_json"), hparams, seed)));
    });
  });
}

det_status det_trial_sampler_create(const det_trial_sampler_options *options,
                                    det_trial_sampler **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto given = read_options<det_trial_sampler_options>(
          options, DET_TRIAL_SAMPLER_OPTIONS_INIT, "det_trial_sampler_options");
      return new det_trial_sampler{
          det::trial::Sampler({.length = given.length,
                               .shard = given.shard,
                               .shards = given.shards == 0 ? 1 : given.shards,
                               .shuffle = given.shuffle != 0,
                               .seed = given.seed,
                               .skip = given.skip})};
    });
  });
}

det_status det_trial_sampler_next(det_trial_sampler *sampler, int64_t *out,
                                  det_error *err) noexcept {
  return answered(err, [&] {
    int64_t &result = deref(out, "out");
    const std::optional<int64_t> index = deref(sampler, "sampler").impl.next();
    if (!index) return DET_DONE;
    result = *index;
    return DET_OK;
  });
}

void det_trial_sampler_free(det_trial_sampler *sampler) noexcept { delete sampler; }

det_status det_trial_early_stopping_create(const det_trial_early_stopping_options *options,
                                           det_trial_early_stopping **out,
                                           det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto given = read_options<det_trial_early_stopping_options>(
          options, DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT, "det_trial_early_stopping_options");
      return new det_trial_early_stopping{det::trial::EarlyStopping(
          {.monitor = given.monitor != nullptr ? given.monitor : "val_loss",
           .mode = mode_from(given.mode),
           .min_delta = given.min_delta,
           .patience = given.patience,
           .baseline = value_or_none(given.baseline),
           .start_from = given.start_from})};
    });
  });
}

det_status det_trial_early_stopping_update(det_trial_early_stopping *rule, const double *value,
                                           int32_t *out_stop, int32_t *out_improved,
                                           det_error *err) noexcept {
  return guarded(err, [&] {
    clear(out_stop, out_improved);
    int32_t &stop = deref(out_stop, "out_stop");
    const auto result = deref(rule, "rule").impl.update(value_or_none(value));
    stop = result.stop ? 1 : 0;
    if (out_improved != nullptr) *out_improved = result.improved ? 1 : 0;
  });
}

det_status det_trial_early_stopping_state(const det_trial_early_stopping *rule, char **out_json,
                                          det_error *err) noexcept {
  return give_state(rule, out_json, err);
}

det_status det_trial_early_stopping_load_state(det_trial_early_stopping *rule,
                                               const char *state_json, det_error *err) noexcept {
  return take_state(rule, state_json, err);
}

void det_trial_early_stopping_free(det_trial_early_stopping *rule) noexcept { delete rule; }

det_status det_trial_plateau_create(const det_trial_plateau_options *options,
                                    det_trial_plateau **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto given = read_options<det_trial_plateau_options>(
          options, DET_TRIAL_PLATEAU_OPTIONS_INIT, "det_trial_plateau_options");
      return new det_trial_plateau{
          det::trial::Plateau({.monitor = given.monitor != nullptr ? given.monitor : "val_loss",
                               .mode = mode_from(given.mode),
                               .factor = given.factor,
                               .min_delta = given.min_delta,
                               .min_learning_rate = given.min_learning_rate,
                               .patience = given.patience,
                               .cooldown = given.cooldown})};
    });
  });
}

det_status det_trial_plateau_update(det_trial_plateau *rule, const double *value,
                                    double *learning_rate, int32_t *out_improved,
                                    det_error *err) noexcept {
  return guarded(err, [&] {
    double &rate = deref(learning_rate, "learning_rate");
    const auto result = deref(rule, "rule").impl.update(value_or_none(value), rate);
    rate = result.learning_rate;
    if (out_improved != nullptr) *out_improved = result.improved ? 1 : 0;
  });
}

det_status det_trial_plateau_state(const det_trial_plateau *rule, char **out_json,
                                   det_error *err) noexcept {
  return give_state(rule, out_json, err);
}

det_status det_trial_plateau_load_state(det_trial_plateau *rule, const char *state_json,
                                        det_error *err) noexcept {
  return take_state(rule, state_json, err);
}

void det_trial_plateau_free(det_trial_plateau *rule) noexcept { delete rule; }
