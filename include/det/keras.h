/**
 * @file
 * @brief Trains a model as a trial: with checkpoints, metrics, searches and ranks. In libdetnn.
 *
 * Link with `detnn` beside `detcore`. It does for every language what det::keras does in C++.
 *
 * A program describes its trial in one function, det_keras_build. That function calls:
 * - det_keras_set_model();
 * - det_keras_set_training_data() and det_keras_set_validation_data();
 * - if you like, det_keras_configure_fit() and det_keras_add_callback().
 *
 * det_keras_run_trial() calls the function once and does the rest. A trial that was killed, paused
 * or left resumes from its last checkpoint, and reaches the same bits.
 */
#ifndef DET_KERAS_H
#define DET_KERAS_H

#include <det/core.h>
#include <det/nn.h>
#include <det/trial.h>

DET_BEGIN_DECLS

/** A trial and its settings.
 *
 * It is valid while the trial runs. Use it in functions that the thread of the run calls, not in
 * those that workers call. */
typedef struct det_keras_context det_keras_context;

/** Makes a trial of a run that the program has begun itself.
 * @param[in]  core  The run. It must outlive the trial. With several ranks it needs
 *                   DET_PREEMPT_MODE_CHIEF_ONLY or DET_PREEMPT_MODE_WORKERS_ASK_MASTER.
 * @param[in]  kind  A name for errors and checkpoints. Checkpoints of another kind are rejected.
 *                   NULL: "det::keras::Trial".
 * @param[out] out   Receives the trial. Release it with det_keras_context_free().
 * @retval DET_OK         `out` has the trial.
 * @retval DET_E_INVALID  `global_batch_size` is missing, or cannot be divided among the ranks.
 * @retval DET_E_NOMEM    Out of memory.
 * @since 0.1 */
DET_API det_status det_keras_context_create(det_core *core, const char *kind,
                                            det_keras_context **out, det_error *err) DET_NOEXCEPT;

/** Makes a trial of a run of one process, of which nothing is kept.
 *
 * You can inspect it. det_keras_train() then trains one batch, validates one, and saves a
 * checkpoint. Follows from_config().
 * @param[in]  config_json   An experiment configuration.
 * @param[in]  hparams_json  The hyperparameters. NULL: drawn from the ranges of the configuration.
 * @param[in]  kind          As for det_keras_context_create().
 * @param[out] out           Receives the trial. Release it with det_keras_context_free().
 * @return As det_keras_context_create() and det_core_init().
 * @since 0.1 */
DET_API det_status det_keras_context_from_config(const char *config_json, const char *hparams_json,
                                                 const char *kind, det_keras_context **out,
                                                 det_error *err) DET_NOEXCEPT;

/** Releases a trial that the program made. NULL does nothing.
 * @since 0.1 */
DET_API void det_keras_context_free(det_keras_context *context) DET_NOEXCEPT;

/** A function of a trial returns this if its hyperparameters cannot be trained.
 *
 * The run ends with that, and a search continues without it. All ranks may return it, or one of
 * them. */
#define DET_KERAS_INVALID_HP 3

/** Fills an error, and returns the status with which a function of a trial ends.
 *
 * Example: `return det_keras_fail(err, DET_E_IO, "digits.csv is missing")`. Any thread may call it.
 * @param[out] err      The error that the function got. NULL: nothing is filled.
 * @param[in]  status   One of DET_E_*, or DET_KERAS_INVALID_HP. Any other counts as DET_E_CALLBACK.
 * @param[in]  message  UTF-8. It is copied as far as there is room. NULL: no message.
 * @return The status.
 * @since 0.1 */
DET_API det_status det_keras_fail(det_error *err, det_status status,
                                  const char *message) DET_NOEXCEPT;

/** Describes a trial: it calls the functions of the context. Each rank calls it once.
 *
 * This function and all functions of a program below follow these rules:
 * - They return DET_OK, DET_KERAS_INVALID_HP, or another status that ends the run.
 * - They may fill `err`, or pass it to functions of the library and return their status.
 *   det_keras_run_trial() then ends with its code and message.
 * - Without a code in `err` it ends with DET_E_CALLBACK.
 * - No exception may leave them. */
typedef det_status (*det_keras_build)(det_keras_context *context, void *user_data, det_error *err);

/** Returns the run of a trial, for its hyperparameters, ranks and TensorBoard.
 *
 * See det_core_info(), det_core_distributed() and det_core_tensorboard(). The run is borrowed. The
 * trial itself reports, saves and closes it.
 * @return The run; NULL for NULL.
 * @since 0.1 */
DET_API det_core *det_keras_core(const det_keras_context *context) DET_NOEXCEPT;

/** Returns the records of a batch over all ranks: the hyperparameter `global_batch_size`.
 * @return The number; 0 for NULL.
 * @since 0.1 */
DET_API int64_t det_keras_global_batch_size(const det_keras_context *context) DET_NOEXCEPT;

/** Returns the records of a batch of this rank.
 * @return The number; 0 for NULL.
 * @since 0.1 */
DET_API int64_t det_keras_per_slot_batch_size(const det_keras_context *context) DET_NOEXCEPT;

/** Sets the model that is trained. Call it once, while the trial is built. The trial's seed decides
 * the first weights.
 * @param[in]  json       As for det_nn_model_create().
 * @param[in]  compiled   As for det_nn_model_compile(), with an "optimizer".
 * @param[out] out_model  Receives the model, which the trial owns as long as it runs. NULL if not
 *                        needed.
 * @retval DET_OK             Set.
 * @retval DET_E_INVALID      As from those two functions, or "optimizer" is missing.
 * @retval DET_E_UNSUPPORTED  As from those two functions.
 * @retval DET_E_STATE        A model was set before, or the trial is built.
 * @retval DET_E_NOMEM        Out of memory.
 * @since 0.1 */
DET_API det_status det_keras_set_model(det_keras_context *context, const char *json,
                                       const char *compiled, det_nn_model **out_model,
                                       det_error *err) DET_NOEXCEPT;

/** Sets a model that the program has made and compiled. The program owns it, and it must outlive
 * the training. Everything else is as for det_keras_set_model().
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  It is not compiled with an optimizer.
 * @retval DET_E_STATE    A model was set before, or the trial is built.
 * @since 0.1 */
DET_API det_status det_keras_use_model(det_keras_context *context, det_nn_model *model,
                                       det_error *err) DET_NOEXCEPT;

/** Returns the model that is trained, for example for its weights and its learning rate. Use it
 * between steps.
 * @return The model, which the trial owns as long as it runs. NULL for NULL, and before a model is
 * set.
 * @since 0.1 */
DET_API det_nn_model *det_keras_model(const det_keras_context *context) DET_NOEXCEPT;

/** Fills in a batch of a sequence. With workers several threads call it at once.
 * @param[in]     index  The number of the batch, from 0.
 * @param[in,out] out    DET_NN_BATCH_INIT. Fill it in. With `release` its arrays must stay until
 *                       that is called. Without it they are copied as soon as the function returns,
 *                       and may change with the next call on this thread. */
typedef det_status (*det_keras_batch)(int64_t index, det_nn_batch *out, void *user_data,
                                      det_error *err);

/** Called after each pass over a sequence, by the thread that runs the trial. No batch is asked for
 * meanwhile. */
typedef det_status (*det_keras_epoch_end)(void *user_data, det_error *err);

/** Begins to read a stream. A stream of training data has no end.
 * @param[in]  skip  Batches to pass over.
 * @param[in]  most  Batches that are asked for. -1: all.
 * @param[out] out   Receives the reading, for the next two functions. */
typedef det_status (*det_keras_open)(int64_t skip, int64_t most, void **out, void *user_data,
                                     det_error *err);

/** Fills in the next batch of a stream, as det_keras_batch does. Returns DET_DONE at the end. */
typedef det_status (*det_keras_next)(void *reading, det_nn_batch *out, void *user_data,
                                     det_error *err);

/** Ends the reading of a stream. */
typedef void (*det_keras_close)(void *reading, void *user_data);

/** The data of training or validation. Set one of three kinds:
 * - arrays, which are cut into batches;
 * - a sequence: batches by their number, of det_keras_per_slot_batch_size() records each;
 * - a stream: batches one after the other.
 *
 * Each of several ranks has its share of the batches of arrays and sequences. A stream gives the
 * rank's own batches. */
typedef struct det_keras_data {
  size_t struct_size; /**< sizeof(det_keras_data). */
  /** All records, or NULL. The arrays must not change while the trial runs. The structs are copied.
   */
  const det_nn_batch *arrays;
  int64_t batch_count;              /**< Of a sequence: batches in an epoch. 0 with arrays. */
  det_keras_batch batch;            /**< Of a sequence. */
  det_keras_epoch_end on_epoch_end; /**< Of a sequence. NULL if not needed. */
  void *user_data;                  /**< The argument of all functions. */
  det_keras_open open;              /**< Of a stream, with the next two. */
  det_keras_next next;              /**< Of a stream. */
  det_keras_close close;            /**< Of a stream. */
} det_keras_data;

/** Initialiser without data. */
#define DET_KERAS_DATA_INIT \
  { sizeof(det_keras_data), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL }

/** Sets the training data. Call it once, while the trial is built.
 *
 * Arrays of different lengths, and fewer records than a batch, later end the run with
 * DET_E_INVALID.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  The data are not one of the three kinds, or a tensor is invalid.
 * @retval DET_E_STATE    The data were set before, or the trial is built.
 * @since 0.1 */
DET_API det_status det_keras_set_training_data(det_keras_context *context,
                                               const det_keras_data *data,
                                               det_error *err) DET_NOEXCEPT;

/** Sets the validation data. Everything else is as for det_keras_set_training_data().
 * @return As det_keras_set_training_data().
 * @since 0.1 */
DET_API det_status det_keras_set_validation_data(det_keras_context *context,
                                                 const det_keras_data *data,
                                                 det_error *err) DET_NOEXCEPT;

/** Sets how the trial is trained and how its data are read. Call it while the trial is built, as
 * often as you like. A call changes only the settings that it names.
 *
 * Settings and their defaults:
 * - "shuffle" (true): each epoch has the batches in another order.
 * - "workers" (0): threads that ask a sequence for batches ahead.
 * - "max_queue_size" (10): batches to ask for ahead.
 * - "validation_steps" (null): batches of a validation on each rank. null: all.
 * - "class_weight" (null): the weight of each class, as in det_nn_batch, in training only.
 * - "verbose" (false): prints a line for each tenth of a workload.
 * @param[in] json  An object of these settings.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  A name is unknown, and the message has the nearest one. Or a value is
 *                        invalid. Nothing is set.
 * @retval DET_E_STATE    The trial is built.
 * @since 0.1 */
DET_API det_status det_keras_configure_fit(det_keras_context *context, const char *json,
                                           det_error *err) DET_NOEXCEPT;

/** The kind of an event that a callback gets. */
typedef int32_t det_keras_event_kind;
#define DET_KERAS_TRAIN_BEGIN 1    /**< The model has its weights, also those of a checkpoint. */
#define DET_KERAS_TRAIN_END 2      /**< There is no more work. */
#define DET_KERAS_EPOCH_BEGIN 3    /**< `index` is the epoch. */
#define DET_KERAS_EPOCH_END 4      /**< The same. Needs `records_per_epoch`. */
#define DET_KERAS_WORKLOAD_BEGIN 5 /**< `index` batches were trained. `batches` come. */
#define DET_KERAS_WORKLOAD_END 6   /**< `index` batches were trained. With metrics of all ranks. */
#define DET_KERAS_BATCH_BEGIN 7    /**< `index` is the batch in its epoch. */
#define DET_KERAS_BATCH_END 8      /**< The same. With this rank's metrics of the workload. */
#define DET_KERAS_TEST_BEGIN 9     /**< A validation begins. */
#define DET_KERAS_TEST_BATCH_BEGIN 10 /**< `index` is the batch in its validation. */
#define DET_KERAS_TEST_BATCH_END 11   /**< The same. With this rank's metrics so far. */
#define DET_KERAS_TEST_END 12         /**< With metrics of all ranks, named "val_...". */
#define DET_KERAS_CHECKPOINT_END 13   /**< On the chief. It may add files to `directory`. */
#define DET_KERAS_CHECKPOINT_LOAD 14  /**< On all ranks. They can read `directory`. */

/** An event. Its pointers are valid until the callback returns. */
typedef struct det_keras_event {
  size_t struct_size;        /**< sizeof(det_keras_event) of the library. */
  det_keras_event_kind kind; /**< One of DET_KERAS_*. Later releases may add more. */
  int32_t reserved;          /**< 0. */
  int64_t index;             /**< See the kind. Else 0. */
  int64_t batches;           /**< See the kind. Else 0. */
  const det_metric *metrics; /**< See the kind. Else NULL. */
  size_t metric_count;       /**< The number of `metrics`. */
  const char *directory;     /**< Of a checkpoint, or NULL. */
} det_keras_event;

/** A callback, which follows the training. All ranks have the same callbacks. Any function may be
 * NULL. */
typedef struct det_keras_callback {
  size_t struct_size; /**< sizeof(det_keras_callback). */
  /** Finds its state in a checkpoint. Order tells callbacks of one name apart. NULL: "Callback". */
  const char *name;
  /** Receives all events. */
  det_status (*on_event)(det_keras_context *context, const det_keras_event *event, void *user_data,
                         det_error *err);
  /** Gives the chief the state to keep in checkpoints: UTF-8, such as JSON. It is copied as soon as
   * the function returns. NULL: no state. */
  det_status (*get_state)(const char **out, void *user_data, det_error *err);
  /** Receives that state when a trial resumes, between DET_KERAS_TRAIN_BEGIN and
   * DET_KERAS_CHECKPOINT_LOAD. */
  det_status (*load_state)(const char *state, void *user_data, det_error *err);
  void *user_data;       /**< The argument of the functions. */
  int32_t is_chief_only; /**< 1: only the chief has this callback. */
  int32_t reserved;      /**< 0. */
} det_keras_callback;

/** Initialiser of a callback that does nothing. */
#define DET_KERAS_CALLBACK_INIT \
  { sizeof(det_keras_callback), NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Adds a callback after the earlier ones. Call it while the trial is built.
 * @param[in] callback  It is copied.
 * @retval DET_OK         Added.
 * @retval DET_E_INVALID  An argument is NULL.
 * @retval DET_E_STATE    The trial is built.
 * @retval DET_E_NOMEM    Out of memory.
 * @since 0.1 */
DET_API det_status det_keras_add_callback(det_keras_context *context,
                                          const det_keras_callback *callback,
                                          det_error *err) DET_NOEXCEPT;

/** Adds a built-in callback, by its name and configuration.
 *
 * Names and their settings:
 * - "EarlyStopping": "monitor", "min_delta", "patience", "mode", "baseline", "restore_best_weights"
 *   and "start_from_epoch".
 * - "ReduceLROnPlateau": "monitor", "factor", "patience", "mode", "min_delta", "cooldown" and
 *   "min_lr".
 * - "TensorBoard": "histogram_freq" in workloads and "update_freq" in batches.
 *
 * They mean the same as in Keras, with a validation in place of an epoch. The defaults are those of
 * Keras, except that "update_freq" is 0: never.
 * @param[in] json  `{"class_name": ..., "config": {...}}`, or the name alone as a JSON string.
 * @return As det_keras_add_callback(). Also DET_E_INVALID for an unknown name: the message has the
 * nearest one.
 * @since 0.1 */
DET_API det_status det_keras_add_known_callback(det_keras_context *context, const char *json,
                                                det_error *err) DET_NOEXCEPT;

/** Sets whether the trial ends after its workload, with a checkpoint. NULL does nothing.
 * @param[in] stop  1: it ends. 0: it continues.
 * @since 0.1 */
DET_API void det_keras_set_stop_requested(det_keras_context *context, int32_t stop) DET_NOEXCEPT;

/** Returns the last value of det_keras_set_stop_requested(). Callbacks of the library also set it.
 * @return 1 or 0; 0 for NULL.
 * @since 0.1 */
DET_API int32_t det_keras_stop_requested(const det_keras_context *context) DET_NOEXCEPT;

/** A model that several ranks train in a loop of the program. */
typedef struct det_keras_ranks det_keras_ranks;

/** Gives all ranks the weights and the optimizer's state of the chief. From then on each step adds
 * up the gradients of all ranks. All ranks call it in step.
 * @param[in]  job                 NULL: this process alone.
 * @param[in]  model               Compiled, and with weights. It must outlive the result.
 * @param[in]  optimizations_json  The section `optimizations` of a configuration. NULL: the
 *                                 defaults.
 * @param[out] out                 Receives the result. Release it with det_keras_ranks_free().
 * @return As det_trial_broadcast() and det_trial_gradients_create().
 * @since 0.1 */
DET_API det_status det_keras_ranks_create(det_distributed_context *job, det_nn_model *model,
                                          const char *optimizations_json, det_keras_ranks **out,
                                          det_error *err) DET_NOEXCEPT;

/** Trains the model by one step of all ranks. All ranks call it in step.
 * @param[in] batch  The records of this rank.
 * @return As det_nn_model_train_on_batch(), det_trial_gradients_add() and
 * det_trial_gradients_step().
 * @since 0.1 */
DET_API det_status det_keras_ranks_train_on_batch(det_keras_ranks *ranks, const det_nn_batch *batch,
                                                  det_error *err) DET_NOEXCEPT;

/** Gives all ranks the chief's weights that are not trained, such as the means of a batch
 * normalization.
 *
 * Each rank has computed its own from its data. All ranks call it in step.
 * @return As det_trial_broadcast().
 * @since 0.1 */
DET_API det_status det_keras_ranks_share_untrained(det_keras_ranks *ranks, det_nn_model *model,
                                                   det_error *err) DET_NOEXCEPT;

/** Releases the handle, after which steps are those of one rank again. NULL does nothing.
 * @since 0.1 */
DET_API void det_keras_ranks_free(det_keras_ranks *ranks) DET_NOEXCEPT;

/** The functions of a trial that trains in another way than Keras. Reports, checkpoints, the search
 * and restarts are as for any trial. */
typedef struct det_keras_loop {
  size_t struct_size;              /**< sizeof(det_keras_loop). */
  const char *format;              /**< In the metadata of checkpoints. */
  const char *model_file;          /**< The file of the model, as JSON. */
  const char *weights_file;        /**< The file of its weights. */
  const char *training_state_file; /**< The file of its optimizer's state. */
  /** Called before the first workload.
   * @param[in]  checkpoint  The directory of a checkpoint, if the trial resumes from one. Else
   *                         NULL.
   * @param[out] out_model   The compiled model. It must live until `end`. It has the weights of the
   *                         checkpoint as soon as this function returns. */
  det_status (*begin)(det_keras_context *context, const char *checkpoint, det_nn_model **out_model,
                      void *user_data, det_error *err);
  /** Trains batches, with det_keras_ranks_train_on_batch().
   * @param[in]  ranks    The ranks of the model.
   * @param[in]  batches  The number of batches.
   * @param[out] out      `{"avg_metrics": {}, "batch_metrics": []}` of this rank. Valid until the
   *                      next call. */
  det_status (*train)(det_keras_context *context, det_keras_ranks *ranks, int64_t batches,
                      const char **out, void *user_data, det_error *err);
  /** Validates.
   * @param[in]  most  The most batches. -1: the trial decides.
   * @param[out] out   `{"batches": 1, "validation_metrics": {}}` of this rank. Valid until the next
   *                   call. */
  det_status (*validate)(det_keras_context *context, det_keras_ranks *ranks, int64_t most,
                         const char **out, void *user_data, det_error *err);
  /** Adds files to a checkpoint, on the chief. The model is already in it. */
  det_status (*save)(det_keras_context *context, const char *directory, void *user_data,
                     det_error *err);
  /** Called when the training ends, for whatever reason. Its status counts if nothing had failed
   * before. */
  det_status (*end)(det_keras_context *context, int32_t has_failed, void *user_data,
                    det_error *err);
  void *user_data; /**< The argument of the functions. */
} det_keras_loop;

/** Initialiser of an empty loop. */
#define DET_KERAS_LOOP_INIT \
  { sizeof(det_keras_loop), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Sets how a trial trains, in place of a model, data and callbacks. Call it while the trial is
 * built.
 * @param[in] loop  The names are copied.
 * @retval DET_OK         Set.
 * @retval DET_E_INVALID  A function or a name is NULL.
 * @retval DET_E_STATE    The trial is built.
 * @since 0.1 */
DET_API det_status det_keras_set_loop(det_keras_context *context, const det_keras_loop *loop,
                                      det_error *err) DET_NOEXCEPT;

/** A source of workloads, in place of the search. */
typedef struct det_keras_workloads {
  size_t struct_size; /**< sizeof(det_keras_workloads). */
  /** Gives the next workload. DET_DONE: there is no more work. */
  det_status (*next)(det_workload *out, void *user_data, det_error *err);
  /** Receives the response to the workload, as in det_trial_sequencer_respond(). NULL: these
   * hyperparameters cannot be trained. */
  det_status (*respond)(const char *response, void *user_data, det_error *err);
  void *user_data; /**< The argument of the functions. */
} det_keras_workloads;

/** Initialiser without functions. */
#define DET_KERAS_WORKLOADS_INIT \
  { sizeof(det_keras_workloads), NULL, NULL, NULL }

/** Trains a trial that the program made, to its end. Blocks.
 * @param[in] build      Describes the trial.
 * @param[in] user_data  The argument of `build`.
 * @param[in] workloads  NULL: those that the search asks for. The run is then closed with its
 *                       outcome. For a trial of det_keras_context_from_config(), NULL means one
 *                       batch of everything.
 * @return As det_keras_run_trial(). With several ranks, the failure of a rank is on standard error
 * before this returns.
 * @since 0.1 */
DET_API det_status det_keras_train(det_keras_context *context, det_keras_build build,
                                   void *user_data, const det_keras_workloads *workloads,
                                   det_error *err) DET_NOEXCEPT;

/** Reads the arguments of main() as det_keras_run_trial() does.
 * @param[in]  arguments  The name of the program first.
 * @param[in]  count      The number of arguments.
 * @param[out] out        `{"config": {}, "external_id": "", "tests_one_batch": false}`, the first
 *                        two only if they are given. Release it with det_free().
 * @retval DET_OK         `out` has the text.
 * @retval DET_E_INVALID  An option has no value, or the configuration is invalid.
 * @since 0.1 */
DET_API det_status det_keras_read_arguments(const char *const *arguments, size_t count, char **out,
                                            det_error *err) DET_NOEXCEPT;

/** Options of det_keras_run_trial(). For a member that is NULL the environment decides, as for
 * det_core_options. */
typedef struct det_keras_run_options {
  size_t struct_size; /**< sizeof(det_keras_run_options). */
  /** The arguments of main(), with the program's name first. `--config FILE` replaces
   * `config_json`, `--external-id NAME` replaces `external_id`, and `--test` sets
   * `tests_one_batch`. Others are ignored. */
  const char *const *arguments;
  size_t argument_count;          /**< The number of `arguments`. */
  const char *config_json;        /**< The experiment configuration. */
  const char *hparams_json;       /**< The hyperparameters. */
  const char *external_id;        /**< The next start with the same one resumes the trial. */
  const char *name;               /**< The name of the experiment. */
  const char *master;             /**< A URL, or the directory of a store. */
  const char *checkpoint_storage; /**< A directory or URL. */
  /** 1: checks that the trial runs. It trains one batch, validates one, saves a checkpoint, and
   * keeps nothing. Hyperparameters are drawn from their ranges. */
  int32_t tests_one_batch;
  int32_t reserved; /**< 0. */
} det_keras_run_options;

/** Initialiser with the defaults. */
#define DET_KERAS_RUN_OPTIONS_INIT \
  { sizeof(det_keras_run_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Trains a trial to its end: under `det run`, under mpirun, or alone with the options.
 *
 * Blocks. A process may have one run at a time. SIGTERM asks it to save a checkpoint and leave. If
 * the trial fails, its run ends as failed. The next start resumes it.
 * @param[in] build      Describes the trial.
 * @param[in] user_data  The argument of `build`.
 * @param[in] options    NULL: the defaults.
 * @retval DET_OK         The trial ended, or was asked to leave. Also if its hyperparameters cannot
 *                        be trained (DET_KERAS_INVALID_HP), except in a test.
 * @retval DET_E_INVALID  Arguments, a configuration or data are invalid, or batches change their
 *                        shape.
 * @retval DET_E_STATE    `build` set no model, or no data.
 * @return Also the failure of a function of the program, and those of det_core_init() and
 * det_nn_model_train_on_batch().
 * @since 0.1 */
DET_API det_status det_keras_run_trial(det_keras_build build, void *user_data,
                                       const det_keras_run_options *options,
                                       det_error *err) DET_NOEXCEPT;

/** Loads the model of a checkpoint with its weights, to predict with it.
 * @param[in]  directory  The directory of a complete checkpoint.
 * @param[out] out        Receives the model. Release it with det_nn_model_free().
 * @retval DET_OK         `out` has the model.
 * @retval DET_E_INVALID  This is no checkpoint of such a trial.
 * @retval DET_E_CORRUPT  A file is damaged.
 * @retval DET_E_IO       Reading failed.
 * @retval DET_E_NOMEM    Out of memory.
 * @return Also other errors of reading files.
 * @since 0.1 */
DET_API det_status det_keras_load_model(const char *directory, det_nn_model **out,
                                        det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
