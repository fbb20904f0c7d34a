/**
 * @file
 * @brief What trial layers share (seed: TFKerasTrial, EstimatorTrial): which work comes next, batch
 * sizes, the order of batches, and the rules that stop a trial or lower its learning rate.
 *
 * Nothing here knows a framework. Each handle is used by one thread at a time.
 */
#ifndef DET_TRIAL_H
#define DET_TRIAL_H

#include <det/core.h>

DET_BEGIN_DECLS

/** What one trial does, workload after workload; from det_trial_sequencer_create(). */
typedef struct det_trial_sequencer det_trial_sequencer;

/** What a workload asks for (seed: Workload.Kind). */
typedef int32_t det_workload_kind;
#define DET_WORKLOAD_TRAIN 1      /**< Train `batches` batches (seed: RUN_STEP). */
#define DET_WORKLOAD_VALIDATE 2   /**< Validate (seed: COMPUTE_VALIDATION_METRICS). */
#define DET_WORKLOAD_CHECKPOINT 3 /**< Save a checkpoint (seed: CHECKPOINT_MODEL). */

/** A piece of work. */
typedef struct det_workload {
  size_t struct_size;     /**< Set by DET_WORKLOAD_INIT. */
  det_workload_kind kind; /**< One of DET_WORKLOAD_*. */
  int32_t reserved;       /**< 0. */
  int64_t step_id;        /**< Counts training workloads, from 1. */
  int64_t batches;        /**< To train; 0 for other kinds. */
  int64_t batches_done;   /**< By the trial, before this workload. */
} det_workload;

/** An empty workload, for det_trial_sequencer_next() to fill in. */
#define DET_WORKLOAD_INIT \
  { sizeof(det_workload), 0, 0, 0, 0, 0 }

/** Makes the sequence of workloads of this run from its configuration: `scheduling_unit`,
 * `min_validation_period`, `min_checkpoint_period`, `checkpoint_policy`,
 * `perform_initial_validation`, `records_per_epoch` and `searcher`. The sequencer reports metrics,
 * progress and status itself, asks the search for operations and whether to stop.
 * All ranks in step; on ranks other than the chief the configuration is not read. It may block as
 * det_searcher_next(). A core of several ranks must have DET_PREEMPT_MODE_CHIEF_ONLY or
 * DET_PREEMPT_MODE_WORKERS_ASK_MASTER, and no operation may have been asked for.
 * @param[in] core         Kept alive by the sequencer.
 * @param[in] config_json  The experiment configuration, an object; NULL: that of the run.
 * @param[in] global_batch_size  Records of a batch over all slots, after
 *                         det_trial_batch_sizes().
 * @param[out] out         Receives the sequencer; free it with det_trial_sequencer_free().
 * @return DET_OK; DET_E_INVALID (a configuration that cannot be followed, naming the key);
 * DET_E_STATE; DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_trial_sequencer_create(det_core *core, const char *config_json,
                                              int64_t global_batch_size, det_trial_sequencer **out,
                                              det_error *err) DET_NOEXCEPT;

/** The next workload, the same on all ranks. All ranks in step; waits for the chief, which may wait
 * for one request to the master. The workload before must have been responded to.
 * @param[out] out  Receives the workload.
 * @return DET_OK; DET_DONE (leave: no more work, or asked to stop); DET_E_STATE (no response yet,
 * or an earlier response failed half-way); DET_E_UNAVAILABLE, DET_E_BUSY.   @since 0.1 */
DET_API det_status det_trial_sequencer_next(det_trial_sequencer *sequencer, det_workload *out,
                                            det_error *err) DET_NOEXCEPT;

/** Tells how the workload went; the chief then reports it. All ranks in step, after the rank has
 * done its part of the workload: no metric is reported before all have.
 * @param[in] response_json  An object. For training `{"metrics": {"avg_metrics": {},
 *   "batch_metrics": []}}`, for a validation `{"metrics": {"validation_metrics": {}}}`, with the
 *   searcher's metric among them, for a checkpoint `{"uuid": "..."}`; `"stop_requested": true`
 *   beside it ends the trial after a last checkpoint, whichever rank says so. Metrics count on the
 *   chief only; NULL, elsewhere, is `{}`. NaN, Infinity and -Infinity may be bare.
 * @return DET_OK; DET_E_INVALID (on any rank: no such response, or the searcher's metric is missing
 * or no number; nothing was reported: respond again); what the reports of det/train.h and
 * det/searcher.h answer: then there is no next workload.   @since 0.1 */
DET_API det_status det_trial_sequencer_respond(det_trial_sequencer *sequencer,
                                               const char *response_json,
                                               det_error *err) DET_NOEXCEPT;

/** Responds that these hyperparameters cannot be trained (seed: InvalidHP): the early exit is
 * reported and the sequence ends, after a validation with a last checkpoint. Also where no workload
 * waits for a response, as before the first one. In step with det_trial_sequencer_respond() of
 * other ranks, one such rank speaks for all. Where other ranks are in the middle of a workload, or
 * ask for one, their call ends with DET_E_CONFLICT, which names this function, and each of them is
 * to call it, too: the job of ranks is over.
 * @return As there.   @since 0.1 */
DET_API det_status det_trial_sequencer_respond_invalid_hparams(det_trial_sequencer *sequencer,
                                                               det_error *err) DET_NOEXCEPT;

/** What to keep in a checkpoint so that the trial goes on from it. Chief only. Does not block.
 * @param[out] out_json  `{"trial_id", "last_ckpt", "steps_completed", "step_id", "last_val"}`, all
 *                       integers; free it with det_free().
 * @return DET_OK; DET_E_STATE (not the chief).   @since 0.1 */
DET_API det_status det_trial_sequencer_state(const det_trial_sequencer *sequencer, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** Goes on from a checkpoint's state; that of another trial is ignored: such a trial starts from
 * its beginning, with weights of the other one. All ranks in step, before the first
 * det_trial_sequencer_next(); on ranks other than the chief the text is not read.
 * @return DET_OK; DET_E_INVALID; DET_E_STATE (workloads were asked for already).   @since 0.1 */
DET_API det_status det_trial_sequencer_load_state(det_trial_sequencer *sequencer,
                                                  const char *state_json,
                                                  det_error *err) DET_NOEXCEPT;

/** Frees a sequencer; NULL is allowed.   @since 0.1 */
DET_API void det_trial_sequencer_free(det_trial_sequencer *sequencer) DET_NOEXCEPT;

/** Divides the hyperparameter `global_batch_size` among slots.
 * @param[in] hparams_json  Hyperparameters, an object.
 * @param[in] slots         Of the trial; 0 counts as 1.
 * @param[in] trial_kind    For errors, as "TFKerasTrial"; NULL: "a trial".
 * @param[out] out_per_slot Records of a batch on one slot.
 * @param[out] out_global   Records of a batch over all slots: a multiple of `slots`.
 * @param[out] out_warning  May be NULL. A text where the hyperparameter is no multiple of `slots`,
 *                          else NULL; free it with det_free().
 * @return DET_OK; DET_E_INVALID (none there, no integer, or less than `slots`).   @since 0.1 */
DET_API det_status det_trial_batch_sizes(const char *hparams_json, int64_t slots,
                                         const char *trial_kind, int64_t *out_per_slot,
                                         int64_t *out_global, char **out_warning,
                                         det_error *err) DET_NOEXCEPT;

/** What a trial that is made without a master is given (seed: from_config): the configuration
 * with defaults, for one slot, and without what belongs to a cluster; hyperparameters.
 * @param[in] config_json   An experiment configuration, an object; NULL is an empty one.
 * @param[in] hparams_json  Hyperparameters; NULL: a sample is drawn from those of the
 * configuration.
 * @param[in] seed          For the sample: the same one for the same seed.
 * @param[out] out_json     `{"experiment_config": {}, "hparams": {}, "trial_seed": 0}`; free it
 * with det_free().
 * @return DET_OK; DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_env_from_config(const char *config_json, const char *hparams_json,
                                             uint32_t seed, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** Which batches of an indexed data set a shard trains on; from det_trial_sampler_create(). */
typedef struct det_trial_sampler det_trial_sampler;

/** How det_trial_sampler_create() goes through a data set. */
typedef struct det_trial_sampler_options {
  size_t struct_size; /**< Set by DET_TRIAL_SAMPLER_OPTIONS_INIT. */
  int64_t length;     /**< Batches of an epoch, of all shards together. */
  int64_t shard;      /**< From 0 on; usually the rank. */
  int64_t shards;     /**< How many; usually the number of ranks. 0: one. */
  int64_t skip;       /**< Batches that this shard has trained on before. */
  int32_t shuffle;    /**< 1: each epoch in a new order, that of NumPy's RandomState(seed). */
  uint32_t seed;      /**< The same for all shards. */
} det_trial_sampler_options;

/** One shard, in ascending order; set at least `length`. */
#define DET_TRIAL_SAMPLER_OPTIONS_INIT \
  { sizeof(det_trial_sampler_options), 0, 0, 0, 0, 0, 0 }

/** Makes a sampler. All epochs are one stream of batches, of which a shard takes every `shards`th:
 * where an epoch does not divide by them, the next one goes on with another shard.
 * @param[out] out  Free it with det_trial_sampler_free().
 * @return DET_OK; DET_E_INVALID (fewer batches than shards, or no such shard).   @since 0.1 */
DET_API det_status det_trial_sampler_create(const det_trial_sampler_options *options,
                                            det_trial_sampler **out, det_error *err) DET_NOEXCEPT;

/** The index of the next batch. There is no last one: epochs follow each other.
 * @return DET_OK; DET_DONE (the epoch is over; the next call begins another one).   @since 0.1 */
DET_API det_status det_trial_sampler_next(det_trial_sampler *sampler, int64_t *out,
                                          det_error *err) DET_NOEXCEPT;

/** Frees a sampler; NULL is allowed.   @since 0.1 */
DET_API void det_trial_sampler_free(det_trial_sampler *sampler) DET_NOEXCEPT;

/** Which values of a metric are good ones. */
typedef int32_t det_monitor_mode;
#define DET_MONITOR_BY_NAME 0 /**< Large ones of accuracies, small ones of others. */
#define DET_MONITOR_MIN 1     /**< Small ones. */
#define DET_MONITOR_MAX 2     /**< Large ones. */

/** When to stop a trial that no longer improves; from det_trial_early_stopping_create(). */
typedef struct det_trial_early_stopping det_trial_early_stopping;

/** The rule of det_trial_early_stopping_create() (seed: the arguments of EarlyStopping). */
typedef struct det_trial_early_stopping_options {
  size_t struct_size;     /**< Set by DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT. */
  const char *monitor;    /**< Name of the metric, for DET_MONITOR_BY_NAME; NULL is "val_loss". */
  double min_delta;       /**< What improves by no more does not improve. */
  const double *baseline; /**< Improvements must also beat it; NULL: none. */
  det_monitor_mode mode;  /**< One of DET_MONITOR_*. */
  int32_t patience;       /**< Validations without an improvement that are waited for. */
  int32_t start_from;     /**< Validations that are not looked at (seed: start_from_epoch). */
  int32_t reserved;       /**< 0. */
} det_trial_early_stopping_options;

/** The defaults of Keras. */
#define DET_TRIAL_EARLY_STOPPING_OPTIONS_INIT \
  { sizeof(det_trial_early_stopping_options), NULL, 0, NULL, DET_MONITOR_BY_NAME, 0, 0, 0 }

/** Makes the rule of Keras' EarlyStopping, a validation taken for an epoch. Unlike there, an
 * improvement that misses the baseline does not put off the stop.
 * @param[out] out  Free it with det_trial_early_stopping_free().
 * @return DET_OK; DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_early_stopping_create(const det_trial_early_stopping_options *options,
                                                   det_trial_early_stopping **out,
                                                   det_error *err) DET_NOEXCEPT;

/** Tells the rule of a validation.
 * @param[in] value         The metric; NULL where the validation had none.
 * @param[out] out_stop     1: the trial is to stop. The first validation never stops one.
 * @param[out] out_improved May be NULL. 1: it is the best value so far.
 * @return DET_OK; DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_early_stopping_update(det_trial_early_stopping *rule,
                                                   const double *value, int32_t *out_stop,
                                                   int32_t *out_improved,
                                                   det_error *err) DET_NOEXCEPT;

/** What to keep in a checkpoint.
 * @param[out] out_json  `{"best", "best_epoch", "wait", "stopped_epoch", "test_end_count"}`, where
 *   infinities are bare, as Python's json reads them; free it with det_free().   @since 0.1 */
DET_API det_status det_trial_early_stopping_state(const det_trial_early_stopping *rule,
                                                  char **out_json, det_error *err) DET_NOEXCEPT;

/** Goes on from a state. What it does not have stays as it is.
 * @return DET_OK; DET_E_INVALID (nothing is changed).   @since 0.1 */
DET_API det_status det_trial_early_stopping_load_state(det_trial_early_stopping *rule,
                                                       const char *state_json,
                                                       det_error *err) DET_NOEXCEPT;

/** Frees a rule; NULL is allowed.   @since 0.1 */
DET_API void det_trial_early_stopping_free(det_trial_early_stopping *rule) DET_NOEXCEPT;

/** When to lower the learning rate; from det_trial_plateau_create(). */
typedef struct det_trial_plateau det_trial_plateau;

/** The rule of det_trial_plateau_create() (seed: the arguments of ReduceLROnPlateau). */
typedef struct det_trial_plateau_options {
  size_t struct_size;       /**< Set by DET_TRIAL_PLATEAU_OPTIONS_INIT. */
  const char *monitor;      /**< Name of the metric, for DET_MONITOR_BY_NAME; NULL is "val_loss". */
  double factor;            /**< The learning rate is multiplied by it; from 0, below 1. */
  double min_delta;         /**< What improves by no more does not improve. */
  double min_learning_rate; /**< It is not lowered below that. */
  det_monitor_mode mode;    /**< One of DET_MONITOR_*. */
  int32_t patience;         /**< Validations without an improvement that are waited for. */
  int32_t cooldown;         /**< Validations after a reduction that are not counted. */
  int32_t reserved;         /**< 0. */
} det_trial_plateau_options;

/** The defaults of Keras. */
#define DET_TRIAL_PLATEAU_OPTIONS_INIT \
  { sizeof(det_trial_plateau_options), NULL, 0.1, 1e-4, 0, DET_MONITOR_BY_NAME, 10, 0, 0 }

/** Makes the rule of Keras' ReduceLROnPlateau, a validation taken for an epoch.
 * @param[out] out  Free it with det_trial_plateau_free().
 * @return DET_OK; DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_plateau_create(const det_trial_plateau_options *options,
                                            det_trial_plateau **out, det_error *err) DET_NOEXCEPT;

/** Tells the rule of a validation.
 * @param[in] value  The metric; NULL where the validation had none.
 * @param[in,out] learning_rate  In: the present one; out: the one to go on with.
 * @param[out] out_improved      May be NULL. 1: it is the best value so far.
 * @return DET_OK; DET_E_INVALID.   @since 0.1 */
DET_API det_status det_trial_plateau_update(det_trial_plateau *rule, const double *value,
                                            double *learning_rate, int32_t *out_improved,
                                            det_error *err) DET_NOEXCEPT;

/** What to keep in a checkpoint; the learning rate is not in it.
 * @param[out] out_json  `{"best", "wait", "cooldown_counter", "test_end_count"}`, where infinities
 *   are bare, as Python's json reads them; free it with det_free().   @since 0.1 */
DET_API det_status det_trial_plateau_state(const det_trial_plateau *rule, char **out_json,
                                           det_error *err) DET_NOEXCEPT;

/** Goes on from a state. What it does not have stays as it is.
 * @return DET_OK; DET_E_INVALID (nothing is changed).   @since 0.1 */
DET_API det_status det_trial_plateau_load_state(det_trial_plateau *rule, const char *state_json,
                                                det_error *err) DET_NOEXCEPT;

/** Frees a rule; NULL is allowed.   @since 0.1 */
DET_API void det_trial_plateau_free(det_trial_plateau *rule) DET_NOEXCEPT;

DET_END_DECLS

#endif
