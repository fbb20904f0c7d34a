/**
 * @file
 * @brief The parts that all trial layers share: workloads, batch sizes, orders of batches, rules.
 *
 * A sequencer decides the next piece of work. A sampler decides the order of batches. Two rules
 * stop a trial or lower its learning rate. They are the base of TFKerasTrial and EstimatorTrial.
 *
 * Nothing here depends on a framework. Use each handle on one thread at a time.
 */
#ifndef DET_TRIAL_H
#define DET_TRIAL_H

#include <det/core.h>

DET_BEGIN_DECLS

/** The sequence of workloads of one trial. Made by det_trial_sequencer_create(). */
typedef struct det_trial_sequencer det_trial_sequencer;

/** The kind of a workload. Follows Workload.Kind. */
typedef int32_t det_workload_kind;
#define DET_WORKLOAD_TRAIN 1      /**< Train `batches` batches. Follows RUN_STEP. */
#define DET_WORKLOAD_VALIDATE 2   /**< Validate. Follows COMPUTE_VALIDATION_METRICS. */
#define DET_WORKLOAD_CHECKPOINT 3 /**< Save a checkpoint. Follows CHECKPOINT_MODEL. */

/** One piece of work. */
typedef struct det_workload {
  size_t struct_size;     /**< Set by DET_WORKLOAD_INIT. */
  det_workload_kind kind; /**< One of DET_WORKLOAD_*. */
  int32_t reserved;       /**< 0. */
  int64_t step_id;        /**< The number of the training workload, from 1. */
  int64_t batches;        /**< Batches to train. 0 for other kinds. */
  int64_t batches_done;   /**< Batches that the trial has trained before. */
} det_workload;

/** An empty workload. det_trial_sequencer_next() fills it in. */
#define DET_WORKLOAD_INIT \
  { sizeof(det_workload), 0, 0, 0, 0, 0 }

/** Makes the sequence of workloads of this run from its configuration.
 *
 * It reads these keys: `scheduling_unit`, `min_validation_period`, `min_checkpoint_period`,
 * `checkpoint_policy`, `perform_initial_validation`, `records_per_epoch` and `searcher`.
 *
 * From then on the sequencer reports metrics, progress and status. It also asks the search for
 * operations, and whether to stop.
 *
 * All ranks call it in step. Only the chief reads the configuration. It may block as
 * det_searcher_next() does. With several ranks the core needs DET_PREEMPT_MODE_CHIEF_ONLY or
 * DET_PREEMPT_MODE_WORKERS_ASK_MASTER. Call it before anything asks for an operation.
 * @param[in]  core               The run. The sequencer keeps it alive.
 * @param[in]  config_json        The experiment configuration, an object. NULL: that of the run.
 * @param[in]  global_batch_size  Records of a batch over all slots. See det_trial_batch_sizes().
 * @param[out] out                Receives the sequencer. Release it with
 *                                det_trial_sequencer_free().
 * @retval DET_OK             `out` has the sequencer.
 * @retval DET_E_INVALID      The configuration has a wrong value. The message names the key.
 * @retval DET_E_STATE        The mode does not fit, or an operation was asked for before.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @since 0.1 */
DET_API det_status det_trial_sequencer_create(det_core *core, const char *config_json,
                                              int64_t global_batch_size, det_trial_sequencer **out,
                                              det_error *err) DET_NOEXCEPT;

/** Gets the next workload, the same on all ranks.
 *
 * All ranks call it in step, after the response to the workload before. It waits for the chief,
 * which may wait for one request to the master.
 * @param[out] out  Receives the workload.
 * @retval DET_OK             `out` has the workload.
 * @retval DET_DONE           Leave: there is no more work, or the run should stop.
 * @retval DET_E_STATE        The workload before has no response, or a response failed half-way.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_BUSY         Another process holds the store.
 * @since 0.1 */
DET_API det_status det_trial_sequencer_next(det_trial_sequencer *sequencer, det_workload *out,
                                            det_error *err) DET_NOEXCEPT;

/** Responds to the workload with its result. The chief then reports it.
 *
 * All ranks call it in step, each after its part of the workload. No metric is reported before all
 * ranks have called.
 *
 * Responses by kind of workload:
 * - training: `{"metrics": {"avg_metrics": {}, "batch_metrics": []}}`;
 * - validation: `{"metrics": {"validation_metrics": {}}}`, with the searcher's metric among them;
 * - checkpoint: `{"uuid": "..."}`.
 *
 * With `"stop_requested": true` beside it, the trial ends after a last checkpoint. One rank is
 * enough for that.
 * @param[in] response_json  An object. Only the chief's metrics count. On other ranks NULL means
 *                           `{}`. NaN, Infinity and -Infinity may be bare.
 * @retval DET_OK         Reported.
 * @retval DET_E_INVALID  On one of the ranks the response is malformed, or the searcher's metric is
 *                        missing or no number. Nothing is reported. Respond again.
 * @return Also the failures of the reports in det/train.h and det/searcher.h. After these there is
 * no next workload.
 * @since 0.1 */
DET_API det_status det_trial_sequencer_respond(det_trial_sequencer *sequencer,
                                               const char *response_json,
                                               det_error *err) DET_NOEXCEPT;

/** Responds that these hyperparameters cannot be trained.
 *
 * It reports the early exit, and the sequence ends. A validation that waits for its response gets a
 * last checkpoint first. The call is also allowed when no workload waits for a response, for
 * example before the first one. Follows InvalidHP.
 *
 * One rank may call it while the others call det_trial_sequencer_respond() in step. Then it counts
 * for all. Ranks in the middle of a workload, or in det_trial_sequencer_next(), get DET_E_CONFLICT
 * instead. The message names this function. Each of them should then call it too. The job of these
 * ranks is over.
 * @return As det_trial_sequencer_respond().
 * @since 0.1 */
DET_API det_status det_trial_sequencer_respond_invalid_hparams(det_trial_sequencer *sequencer,
                                                               det_error *err) DET_NOEXCEPT;

/** Returns the state that a checkpoint must keep, so that the trial can resume from it. Only the
 * chief may call it. Does not block.
 * @param[out] out_json  `{"trial_id", "last_ckpt", "steps_completed", "step_id", "last_val"}`, all
 *                       integers. Release it with det_free().
 * @retval DET_OK       `out_json` has the state.
 * @retval DET_E_STATE  This rank is not the chief.
 * @since 0.1 */
DET_API det_status det_trial_sequencer_state(const det_trial_sequencer *sequencer, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** Resumes from the state in a checkpoint.
 *
 * A state of another trial is ignored: the trial starts at its beginning, with the weights of the
 * other trial. All ranks call it in step, before the first det_trial_sequencer_next(). Only the
 * chief reads the text.
 * @param[in] state_json  From det_trial_sequencer_state().
 * @retval DET_OK         The state is loaded, or ignored.
 * @retval DET_E_INVALID  The text is not such a state.
 * @retval DET_E_STATE    A workload was asked for before.
 * @since 0.1 */
DET_API det_status det_trial_sequencer_load_state(det_trial_sequencer *sequencer,
                                                  const char *state_json,
                                                  det_error *err) DET_NOEXCEPT;

/** Releases a sequencer. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_sequencer_free(det_trial_sequencer *sequencer) DET_NOEXCEPT;

/** Divides the hyperparameter `global_batch_size` among slots.
 * @param[in]  hparams_json  The hyperparameters, an object.
 * @param[in]  slots         Slots of the trial. 0 counts as 1.
 * @param[in]  trial_kind    A name for messages, such as "TFKerasTrial". NULL: "a trial".
 * @param[out] out_per_slot  Records of a batch on one slot.
 * @param[out] out_global    Records of a batch over all slots, a multiple of `slots`.
 * @param[out] out_warning   A text if the hyperparameter is no multiple of `slots`, else NULL.
 *                           Release it with det_free(). May be NULL.
 * @retval DET_OK         Divided.
 * @retval DET_E_INVALID  The hyperparameter is missing, no integer, or less than `slots`.
 * @since 0.1 */
DET_API det_status det_trial_batch_sizes(const char *hparams_json, int64_t slots,
                                         const char *trial_kind, int64_t *out_per_slot,
                                         int64_t *out_global, char **out_warning,
                                         det_error *err) DET_NOEXCEPT;

/** Makes the configuration and hyperparameters of a trial that runs without a master.
 *
 * The configuration gets defaults for one slot, without the parts that belong to a cluster. Follows
 * from_config().
 * @param[in]  config_json   An experiment configuration, an object. NULL: an empty one.
 * @param[in]  hparams_json  Hyperparameters. NULL: a sample from those of the configuration.
 * @param[in]  seed          The same seed gives the same sample.
 * @param[out] out_json      `{"experiment_config": {}, "hparams": {}, "trial_seed": 0}`. Release it
 *                           with det_free().
 * @retval DET_OK         `out_json` has the text.
 * @retval DET_E_INVALID  An argument has a wrong value.
 * @since 0.1 */
DET_API det_status det_trial_env_from_config(const char *config_json, const char *hparams_json,
                                             uint32_t seed, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** Gives the numbers of the batches that a shard trains on. Made by det_trial_sampler_create(). */
typedef struct det_trial_sampler det_trial_sampler;

/** Options of det_trial_sampler_create(). */
typedef struct det_trial_sampler_options {
  size_t struct_size; /**< Set by DET_TRIAL_SAMPLER_OPTIONS_INIT. */
  int64_t length;     /**< Batches of an epoch, over all shards. */
  int64_t shard;      /**< The number of this shard, from 0. Usually the rank. */
  int64_t shards;     /**< The number of shards. Usually that of ranks. 0: one. */
  int64_t skip;       /**< Batches that this shard has trained on before. */
  int32_t shuffle;    /**< 1: shuffles each epoch as NumPy's RandomState(seed). */
  uint32_t seed;      /**< The same for all shards. */
} det_trial_sampler_options;

/** Initialiser with one shard in ascending order. Set at least `length`. */
#define DET_TRIAL_SAMPLER_OPTIONS_INIT \
  { sizeof(det_trial_sampler_options), 0, 0, 0, 0, 0, 0 }

/** Makes a sampler.
 *
 * All epochs together are one stream of batches. A shard takes every `shards`th one. If an epoch
 * does not divide by `shards`, the next one continues with another shard.
 * @param[out] out  Receives the sampler. Release it with det_trial_sampler_free().
 * @retval DET_OK         `out` has the sampler.
 * @retval DET_E_INVALID  There are fewer batches than shards, or there is no such shard.
 * @since 0.1 */
DET_API det_status det_trial_sampler_create(const det_trial_sampler_options *options,
                                            det_trial_sampler **out, det_error *err) DET_NOEXCEPT;

/** Gets the number of the next batch. There is no last one: one epoch follows another.
 * @param[out] out  Receives the number, from 0.
 * @retval DET_OK         `out` has the number.
 * @retval DET_DONE       The epoch is over. The next call begins another one.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_sampler_next(det_trial_sampler *sampler, int64_t *out,
                                          det_error *err) DET_NOEXCEPT;

/** Releases a sampler. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_sampler_free(det_trial_sampler *sampler) DET_NOEXCEPT;

/** Sets which values of a metric are good. */
typedef int32_t det_monitor_mode;
#define DET_MONITOR_BY_NAME 0 /**< Large ones of accuracies, small ones of others. */
#define DET_MONITOR_MIN 1     /**< Small ones. */
#define DET_MONITOR_MAX 2     /**< Large ones. */

/** The rule that stops a trial when it no longer improves. Made by
 * det_trial_early_stopping_create(). */
typedef struct det_trial_early_stopping det_trial_early_stopping;

/** Options of det_trial_early_stopping_create(). Follows the arguments of EarlyStopping. */
typedef struct det_trial_early_stopping_options {
  size_t struct_size;     /**< Set by DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT. */
  const char *monitor;    /**< The name of the metric, for DET_MONITOR_BY_NAME. NULL: "val_loss". */
  double min_delta;       /**< A change up to this is no improvement. */
  const double *baseline; /**< An improvement must also beat this. NULL: no baseline. */
  det_monitor_mode mode;  /**< One of DET_MONITOR_*. */
  int32_t patience;       /**< Validations to wait for an improvement. */
  int32_t start_from;     /**< Validations to ignore at first (start_from_epoch). */
  int32_t reserved;       /**< 0. */
} det_trial_early_stopping_options;

/** Initialiser with the defaults of Keras. */
#define DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT \
  { sizeof(det_trial_early_stopping_options), NULL, 0, NULL, DET_MONITOR_BY_NAME, 0, 0, 0 }

/** Makes the rule of Keras' EarlyStopping, with a validation in place of an epoch.
 *
 * One thing differs from Keras: an improvement that misses the baseline does not delay the stop.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Receives the rule. Release it with det_trial_early_stopping_free().
 * @retval DET_OK         `out` has the rule.
 * @retval DET_E_INVALID  An option has a wrong value.
 * @since 0.1 */
DET_API det_status det_trial_early_stopping_create(const det_trial_early_stopping_options *options,
                                                   det_trial_early_stopping **out,
                                                   det_error *err) DET_NOEXCEPT;

/** Gives the rule the metric of a validation.
 * @param[in]  value         The metric. NULL: the validation had none.
 * @param[out] out_stop      1: stop the trial. The first validation never stops one.
 * @param[out] out_improved  1: the value is the best so far. May be NULL.
 * @retval DET_OK         The rule has the metric.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_early_stopping_update(det_trial_early_stopping *rule,
                                                   const double *value, int32_t *out_stop,
                                                   int32_t *out_improved,
                                                   det_error *err) DET_NOEXCEPT;

/** Returns the state that a checkpoint must keep.
 * @param[out] out_json  `{"best", "best_epoch", "wait", "stopped_epoch", "test_end_count"}`.
 *                       Infinities are bare, as Python's json reads them. Release it with
 *                       det_free().
 * @retval DET_OK         `out_json` has the state.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_early_stopping_state(const det_trial_early_stopping *rule,
                                                  char **out_json, det_error *err) DET_NOEXCEPT;

/** Resumes from a state. Values that it lacks stay unchanged.
 * @retval DET_OK         Loaded.
 * @retval DET_E_INVALID  The text is not such a state. Nothing changes.
 * @since 0.1 */
DET_API det_status det_trial_early_stopping_load_state(det_trial_early_stopping *rule,
                                                       const char *state_json,
                                                       det_error *err) DET_NOEXCEPT;

/** Releases a rule. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_early_stopping_free(det_trial_early_stopping *rule) DET_NOEXCEPT;

/** The rule that lowers the learning rate. Made by det_trial_plateau_create(). */
typedef struct det_trial_plateau det_trial_plateau;

/** Options of det_trial_plateau_create(). Follows the arguments of ReduceLROnPlateau. */
typedef struct det_trial_plateau_options {
  size_t struct_size; /**< Set by DET_TRIAL_PLATEAU_OPTIONS_INIT. */
  /** The name of the metric, for DET_MONITOR_BY_NAME. NULL: "val_loss". */
  const char *monitor;
  double factor;            /**< Multiplies the learning rate. From 0, below 1. */
  double min_delta;         /**< A change up to this is no improvement. */
  double min_learning_rate; /**< The learning rate is not lowered below this. */
  det_monitor_mode mode;    /**< One of DET_MONITOR_*. */
  int32_t patience;         /**< Validations to wait for an improvement. */
  int32_t cooldown;         /**< Validations after a reduction that do not count. */
  int32_t reserved;         /**< 0. */
} det_trial_plateau_options;

/** Initialiser with the defaults of Keras. */
#define DET_TRIAL_PLATEAU_OPTIONS_INIT \
  { sizeof(det_trial_plateau_options), NULL, 0.1, 1e-4, 0, DET_MONITOR_BY_NAME, 10, 0, 0 }

/** Makes the rule of Keras' ReduceLROnPlateau, with a validation in place of an epoch.
 * @param[in]  options  NULL: the defaults.
 * @param[out] out      Receives the rule. Release it with det_trial_plateau_free().
 * @retval DET_OK         `out` has the rule.
 * @retval DET_E_INVALID  An option has a wrong value.
 * @since 0.1 */
DET_API det_status det_trial_plateau_create(const det_trial_plateau_options *options,
                                            det_trial_plateau **out, det_error *err) DET_NOEXCEPT;

/** Gives the rule the metric of a validation.
 * @param[in]     value          The metric. NULL: the validation had none.
 * @param[in,out] learning_rate  In: the present one. Out: the one to continue with.
 * @param[out]    out_improved   1: the value is the best so far. May be NULL.
 * @retval DET_OK         The rule has the metric.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_plateau_update(det_trial_plateau *rule, const double *value,
                                            double *learning_rate, int32_t *out_improved,
                                            det_error *err) DET_NOEXCEPT;

/** Returns the state that a checkpoint must keep. The learning rate is not in it.
 * @param[out] out_json  `{"best", "wait", "cooldown_counter", "test_end_count"}`. Infinities are
 *                       bare, as Python's json reads them. Release it with det_free().
 * @retval DET_OK         `out_json` has the state.
 * @retval DET_E_INVALID  An argument is NULL.
 * @since 0.1 */
DET_API det_status det_trial_plateau_state(const det_trial_plateau *rule, char **out_json,
                                           det_error *err) DET_NOEXCEPT;

/** Resumes from a state. Values that it lacks stay unchanged.
 * @retval DET_OK         Loaded.
 * @retval DET_E_INVALID  The text is not such a state. Nothing changes.
 * @since 0.1 */
DET_API det_status det_trial_plateau_load_state(det_trial_plateau *rule, const char *state_json,
                                                det_error *err) DET_NOEXCEPT;

/** Releases a rule. NULL does nothing.
 * @since 0.1 */
DET_API void det_trial_plateau_free(det_trial_plateau *rule) DET_NOEXCEPT;

DET_END_DECLS

#endif
