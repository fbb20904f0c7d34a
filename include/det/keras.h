/**
 * @file
 * @brief Trials, in the library detnn (link with `detnn` beside `detcore`): a model that is trained
 * workload by workload, with checkpoints, metrics, searches and ranks: what det::keras does, for
 * every language.
 *
 * A program describes its trial in one function (det_keras_build), by the functions of a context:
 * det_keras_set_model(), det_keras_set_training_data(), det_keras_set_validation_data(), and as it
 * likes det_keras_configure_fit() and det_keras_add_callback(). det_keras_run_trial() calls it once
 * and does the rest. A trial that was killed, paused or left goes on from its last checkpoint to
 * the same bits.
 */
#ifndef DET_KERAS_H
#define DET_KERAS_H

#include <det/core.h>
#include <det/nn.h>
#include <det/trial.h>

DET_BEGIN_DECLS

/** A trial, and what it is given. Valid while it runs, in functions of the program that the thread
 * of the run calls; not in those of workers. */
typedef struct det_keras_context det_keras_context;

/** Makes a trial of a run that the program has begun itself.
 * @param[in]  core  Outlives the trial; of several ranks with DET_PREEMPT_MODE_CHIEF_ONLY or
 *                   DET_PREEMPT_MODE_WORKERS_ASK_MASTER.
 * @param[in]  kind  In errors, and in checkpoints, of which those of another kind are refused.
 *                   NULL: "det::keras::Trial".
 * @param[out] out   Release it with det_keras_context_free().
 * @return DET_OK; DET_E_INVALID (no `global_batch_size` that can be divided among the ranks);
 * DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_keras_context_create(det_core *core, const char *kind,
                                            det_keras_context **out, det_error *err) DET_NOEXCEPT;

/** Makes a trial of a run of one process, of which nothing is kept (seed: from_config): to look at,
 * or for det_keras_train() to train one batch, validate one, and save a checkpoint.
 * @param[in]  config_json   An experiment configuration.
 * @param[in]  hparams_json  NULL: drawn from the ranges of the configuration.
 * @param[in]  kind          As for det_keras_context_create().
 * @param[out] out           Release it with det_keras_context_free().
 * @return As from det_keras_context_create() and det_core_init().   @since 0.1 */
DET_API det_status det_keras_context_from_config(const char *config_json, const char *hparams_json,
                                                 const char *kind, det_keras_context **out,
                                                 det_error *err) DET_NOEXCEPT;

/** Releases a trial that the program made; NULL does nothing.   @since 0.1 */
DET_API void det_keras_context_free(det_keras_context *context) DET_NOEXCEPT;

/** What a function of a trial answers where its hyperparameters cannot be trained: the run ends
 * with that, and a search goes on without it. On every rank, or on one of them. */
#define DET_KERAS_INVALID_HP 3

/** Fills an error for a function of a trial to end with, as in
 * `return det_keras_fail(err, DET_E_IO, "there is no digits.csv")`.
 * @param[out] err      What that function was given. NULL: nothing is filled.
 * @param[in]  status   One of DET_E_*, or DET_KERAS_INVALID_HP; any other counts as DET_E_CALLBACK.
 * @param[in]  message  UTF-8, copied as far as there is room. NULL: none.
 * @return The status. Any thread may call it.   @since 0.1 */
DET_API det_status det_keras_fail(det_error *err, det_status status,
                                  const char *message) DET_NOEXCEPT;

/** Describes a trial, by calling the functions of its context; called once by each rank.
 *
 * This and all functions of a program below answer DET_OK, DET_KERAS_INVALID_HP, or another status
 * that ends the run. They may fill `err`, or hand it to functions of the library whose status they
 * then answer: det_keras_run_trial() ends with its code and message; with DET_E_CALLBACK where it
 * has none. No exception may leave them. */
typedef det_status (*det_keras_build)(det_keras_context *context, void *user_data, det_error *err);

/** The run: its hyperparameters and configuration (det_core_info()), ranks
 * (det_core_distributed()), TensorBoard (det_core_tensorboard()) and the like. Borrowed; the trial
 * reports, saves and closes it itself.
 * @return NULL for NULL.   @since 0.1 */
DET_API det_core *det_keras_core(const det_keras_context *context) DET_NOEXCEPT;

/** Records of a batch over all ranks, which `global_batch_size` of the hyperparameters says.
 * @return 0 for NULL.   @since 0.1 */
DET_API int64_t det_keras_global_batch_size(const det_keras_context *context) DET_NOEXCEPT;

/** Records of a batch of this rank.
 * @return 0 for NULL.   @since 0.1 */
DET_API int64_t det_keras_per_slot_batch_size(const det_keras_context *context) DET_NOEXCEPT;

/** Says what is trained, once, while the trial is built. The first weights follow from its seed.
 * @param[in]  json       As for det_nn_model_create().
 * @param[in]  compiled   As for det_nn_model_compile(), with an "optimizer".
 * @param[out] out_model  The model; the trial's, as long as it runs. NULL: it is not wanted.
 * @return DET_OK; DET_E_INVALID, DET_E_UNSUPPORTED, DET_E_NOMEM as from those; DET_E_STATE (said
 * already, or the trial is built).   @since 0.1 */
DET_API det_status det_keras_set_model(det_keras_context *context, const char *json,
                                       const char *compiled, det_nn_model **out_model,
                                       det_error *err) DET_NOEXCEPT;

/** The same with a model that the program has made and compiled. It is the program's, and outlives
 * the training.
 * @return DET_OK; DET_E_INVALID (not compiled with an optimizer); DET_E_STATE (said already, or the
 * trial is built).   @since 0.1 */
DET_API det_status det_keras_use_model(det_keras_context *context, det_nn_model *model,
                                       det_error *err) DET_NOEXCEPT;

/** The model that is trained, such as for its weights and its learning rate, between its steps.
 * @return The trial's, as long as it runs; NULL for NULL, and before it is said.   @since 0.1 */
DET_API det_nn_model *det_keras_model(const det_keras_context *context) DET_NOEXCEPT;

/** Gives a batch of a sequence. With workers several threads call it at once.
 * @param[in]     index  0 to before the number of batches.
 * @param[in,out] out    DET_NN_BATCH_INIT; to be filled. Without a `release` what it points to is
 *                       copied as soon as the function returns, and may change with the next call
 * on this thread. */
typedef det_status (*det_keras_batch)(int64_t index, det_nn_batch *out, void *user_data,
                                      det_error *err);

/** Told that a sequence was gone through, by the thread that runs the trial; no batch is asked for
 * meanwhile. */
typedef det_status (*det_keras_epoch_end)(void *user_data, det_error *err);

/** Begins to read a stream. Of a training it has no end.
 * @param[in]  skip  Batches to go past.
 * @param[in]  most  Batches that are asked for; -1: all.
 * @param[out] out   The reading, for the next two functions. */
typedef det_status (*det_keras_open)(int64_t skip, int64_t most, void **out, void *user_data,
                                     det_error *err);

/** Gives the next batch of a stream, as det_keras_batch; DET_DONE at its end. */
typedef det_status (*det_keras_next)(void *reading, det_nn_batch *out, void *user_data,
                                     det_error *err);

/** Ends to read a stream. */
typedef void (*det_keras_close)(void *reading, void *user_data);

/** The data of training or validation: arrays, which are cut into batches; a sequence of
 * batches that can be asked for by their number, of det_keras_per_slot_batch_size() records each;
 * or a stream of them, one after the other. Of several ranks each has its share of the batches of
 * the first two, and a stream gives the rank's own. */
typedef struct det_keras_data {
  size_t struct_size;               /**< sizeof(det_keras_data). */
  const det_nn_batch *arrays;       /**< All records. The arrays stay as they are while the trial
                                         runs; the structs around them are copied. Or NULL. */
  int64_t batch_count;              /**< Of a sequence: in an epoch. 0 with arrays. */
  det_keras_batch batch;            /**< Of a sequence. */
  det_keras_epoch_end on_epoch_end; /**< Of a sequence. NULL: nobody is told. */
  void *user_data;                  /**< Of all functions. */
  det_keras_open open;              /**< Of a stream, with the next two. */
  det_keras_next next;              /**< Of a stream. */
  det_keras_close close;            /**< Of a stream. */
} det_keras_data;

/** Initialiser of no data. */
#define DET_KERAS_DATA_INIT \
  { sizeof(det_keras_data), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL }

/** Says what the trial is trained with, once, while it is built.
 * @return DET_OK; DET_E_INVALID (not one of the three; tensors that cannot be);
 * DET_E_STATE (said already, or the trial is built). Arrays of different lengths, and fewer records
 * than a batch has, end the run with DET_E_INVALID.   @since 0.1 */
DET_API det_status det_keras_set_training_data(det_keras_context *context,
                                               const det_keras_data *data,
                                               det_error *err) DET_NOEXCEPT;

/** Says what the trial is validated with. As det_keras_set_training_data().   @since 0.1 */
DET_API det_status det_keras_set_validation_data(det_keras_context *context,
                                                 const det_keras_data *data,
                                                 det_error *err) DET_NOEXCEPT;

/** Says how the trial is trained and its data are read, while it is built. What several calls leave
 * out stays as it was.
 * @param[in] json  An object of: "shuffle" (true: batches come in another order in each epoch),
 *                  "workers" (0: threads that ask a sequence ahead), "max_queue_size" (10: how many
 *                  batches ahead), "validation_steps" (null: all batches, on each rank),
 *                  "class_weight" (null; or a number for each class, as det_nn_batch has them, in
 *                  training alone), "verbose" (false: a line for each tenth of a workload).
 * @return DET_OK; DET_E_INVALID (an unknown name: the message has the nearest; a value that cannot
 * be; nothing of it is taken); DET_E_STATE (the trial is built).   @since 0.1 */
DET_API det_status det_keras_configure_fit(det_keras_context *context, const char *json,
                                           det_error *err) DET_NOEXCEPT;

/** What a callback is told of. */
typedef int32_t det_keras_event_kind;
#define DET_KERAS_TRAIN_BEGIN 1 /**< The model has its weights, those of a checkpoint too. */
#define DET_KERAS_TRAIN_END 2   /**< There is no more to do. */
#define DET_KERAS_EPOCH_BEGIN 3 /**< `index` is the epoch. */
#define DET_KERAS_EPOCH_END 4   /**< Likewise; of `records_per_epoch`, without it there is none. */
#define DET_KERAS_WORKLOAD_BEGIN 5 /**< `index` batches were trained; `batches` come. */
#define DET_KERAS_WORKLOAD_END 6   /**< `index` batches were trained; with metrics of all ranks. */
#define DET_KERAS_BATCH_BEGIN 7    /**< `index` is that of the batch in its epoch. */
#define DET_KERAS_BATCH_END 8      /**< Likewise; with this rank's metrics of the workload. */
#define DET_KERAS_TEST_BEGIN 9     /**< A validation begins. */
#define DET_KERAS_TEST_BATCH_BEGIN 10 /**< `index` is that of the batch in its validation. */
#define DET_KERAS_TEST_BATCH_END 11   /**< Likewise; with this rank's metrics so far. */
#define DET_KERAS_TEST_END 12         /**< With metrics of all ranks, named "val_...". */
#define DET_KERAS_CHECKPOINT_END 13   /**< Of the chief: files may be added to `directory`. */
#define DET_KERAS_CHECKPOINT_LOAD 14  /**< Of all ranks: they can be read from `directory`. */

/** What happened. What it points to is valid until the callback returns. */
typedef struct det_keras_event {
  size_t struct_size;        /**< sizeof(det_keras_event) of the library. */
  det_keras_event_kind kind; /**< One of DET_KERAS_*; a later release may have more. */
  int32_t reserved;          /**< 0. */
  int64_t index;             /**< As `kind` says; else 0. */
  int64_t batches;           /**< Likewise. */
  const det_metric *metrics; /**< Likewise. */
  size_t metric_count;       /**< Of `metrics`. */
  const char *directory;     /**< Of a checkpoint, or NULL. */
} det_keras_event;

/** What a trial is told of its training. All ranks have the same callbacks. Any function may be
 * NULL. */
typedef struct det_keras_callback {
  size_t struct_size; /**< sizeof(det_keras_callback). */
  const char *name;   /**< Under which its state is found again; of one name several are told apart
                           by their order. NULL: "Callback". */
  /** Told of all events. */
  det_status (*on_event)(det_keras_context *context, const det_keras_event *event, void *user_data,
                         det_error *err);
  /** Asked by the chief for what checkpoints keep of it: UTF-8, such as JSON, which is copied as
   * soon as it returns. NULL: nothing. */
  det_status (*get_state)(const char **out, void *user_data, det_error *err);
  /** Given that, between DET_KERAS_TRAIN_BEGIN and DET_KERAS_CHECKPOINT_LOAD of a trial that goes
   * on. */
  det_status (*load_state)(const char *state, void *user_data, det_error *err);
  void *user_data;       /**< Of the functions. */
  int32_t is_chief_only; /**< 1: other ranks than the chief do without it. */
  int32_t reserved;      /**< 0. */
} det_keras_callback;

/** Initialiser of a callback that does nothing. */
#define DET_KERAS_CALLBACK_INIT \
  { sizeof(det_keras_callback), NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Adds a callback, behind those that there are, while the trial is built. It is copied.
 * @return DET_OK, DET_E_INVALID; DET_E_STATE (the trial is built); DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_keras_add_callback(det_keras_context *context,
                                          const det_keras_callback *callback,
                                          det_error *err) DET_NOEXCEPT;

/** Adds a callback that is there already, as det_keras_add_callback().
 * @param[in] json  {"class_name": ..., "config": {...}}, or the name alone as a text of JSON, of:
 *                  "EarlyStopping" with "monitor", "min_delta", "patience", "mode", "baseline",
 *                  "restore_best_weights" and "start_from_epoch"; "ReduceLROnPlateau" with
 *                  "monitor", "factor", "patience", "mode", "min_delta", "cooldown" and "min_lr";
 *                  "TensorBoard" with "histogram_freq" and "update_freq", in workloads and batches.
 *                  Their meaning is that of Keras, whose epochs are validations here, and so are
 *                  the defaults, but for "update_freq", which is 0: never.
 * @return As from det_keras_add_callback(); DET_E_INVALID also for an unknown name: the message has
 * the nearest.   @since 0.1 */
DET_API det_status det_keras_add_known_callback(det_keras_context *context, const char *json,
                                                det_error *err) DET_NOEXCEPT;

/** Whether the trial ends after its workload, with a checkpoint. NULL does nothing.   @since 0.1 */
DET_API void det_keras_set_stop_requested(det_keras_context *context, int32_t stop) DET_NOEXCEPT;

/** What det_keras_set_stop_requested() said last, or a callback of the library.
 * @return 0 for NULL.   @since 0.1 */
DET_API int32_t det_keras_stop_requested(const det_keras_context *context) DET_NOEXCEPT;

/** A model that is trained by several ranks, in a loop of the program's own. */
typedef struct det_keras_ranks det_keras_ranks;

/** Gives all ranks the weights and the optimizer's state of the chief, and adds up the gradients of
 * all of them in each step from now on. All ranks in step.
 * @param[in]  job                 NULL: this process alone.
 * @param[in]  model               Compiled, and with weights. It outlives what is made.
 * @param[in]  optimizations_json  That section of a configuration. NULL: the defaults.
 * @param[out] out                 Release it with det_keras_ranks_free().
 * @return As from det_trial_broadcast() and det_trial_gradients_create().   @since 0.1 */
DET_API det_status det_keras_ranks_create(det_distributed_context *job, det_nn_model *model,
                                          const char *optimizations_json, det_keras_ranks **out,
                                          det_error *err) DET_NOEXCEPT;

/** Trains the model by one step of all ranks. All ranks in step.
 * @return As from det_nn_model_train_on_batch(), det_trial_gradients_add() and
 * det_trial_gradients_step().   @since 0.1 */
DET_API det_status det_keras_ranks_train_on_batch(det_keras_ranks *ranks, const det_nn_batch *batch,
                                                  det_error *err) DET_NOEXCEPT;

/** Gives a model on all ranks the weights of the chief that are not trained, such as the means of a
 * batch normalization, which follow from what each rank has seen. All ranks in step.
 * @return As from det_trial_broadcast().   @since 0.1 */
DET_API det_status det_keras_ranks_share_untrained(det_keras_ranks *ranks, det_nn_model *model,
                                                   det_error *err) DET_NOEXCEPT;

/** Ends that; NULL does nothing.   @since 0.1 */
DET_API void det_keras_ranks_free(det_keras_ranks *ranks) DET_NOEXCEPT;

/** A trial that trains in its own way, not as Keras does: what is done for each workload. Reports,
 * checkpoints, the search and restarts are as for any trial. */
typedef struct det_keras_loop {
  size_t struct_size;              /**< sizeof(det_keras_loop). */
  const char *format;              /**< In the metadata of checkpoints; the next three are files. */
  const char *model_file;          /**< The model as JSON. */
  const char *weights_file;        /**< Its weights. */
  const char *training_state_file; /**< That of its optimizer. */
  /** Before the first workload.
   * @param[in]  checkpoint  A directory, where the trial continues from one; else NULL.
   * @param[out] out_model   The compiled model. It lives until `end`, and has the weights of the
   *                         checkpoint as soon as this returns. */
  det_status (*begin)(det_keras_context *context, const char *checkpoint, det_nn_model **out_model,
                      void *user_data, det_error *err);
  /** Trains batches, by det_keras_ranks_train_on_batch().
   * @param[in]  ranks  Of the model.
   * @param[out] out    `{"avg_metrics": {}, "batch_metrics": []}` of this rank, until the next
   * call. */
  det_status (*train)(det_keras_context *context, det_keras_ranks *ranks, int64_t batches,
                      const char **out, void *user_data, det_error *err);
  /** Validates.
   * @param[in]  most  Batches; -1: as many as the trial wants.
   * @param[out] out   `{"batches": 1, "validation_metrics": {}}` of this rank, until the next call.
   */
  det_status (*validate)(det_keras_context *context, det_keras_ranks *ranks, int64_t most,
                         const char **out, void *user_data, det_error *err);
  /** Of the chief: adds files to a checkpoint, in which the model is already. */
  det_status (*save)(det_keras_context *context, const char *directory, void *user_data,
                     det_error *err);
  /** However the training ends. What it answers counts where nothing had failed before. */
  det_status (*end)(det_keras_context *context, int32_t has_failed, void *user_data,
                    det_error *err);
  void *user_data; /**< Of the functions. */
} det_keras_loop;

/** Initialiser of no loop. */
#define DET_KERAS_LOOP_INIT \
  { sizeof(det_keras_loop), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

/** Says how a trial trains, in the place of a model, data and callbacks; while it is built. The
 * names are copied.
 * @return DET_OK; DET_E_INVALID (a function or a name is NULL); DET_E_STATE (the trial is built).
 * @since 0.1 */
DET_API det_status det_keras_set_loop(det_keras_context *context, const det_keras_loop *loop,
                                      det_error *err) DET_NOEXCEPT;

/** Where workloads come from in the place of the search, one after the other. */
typedef struct det_keras_workloads {
  size_t struct_size; /**< sizeof(det_keras_workloads). */
  /** Gives the next one; DET_DONE: there is no more to do. */
  det_status (*next)(det_workload *out, void *user_data, det_error *err);
  /** How it went, as det_trial_sequencer_respond() has it; NULL: these hyperparameters cannot be
   * trained. */
  det_status (*respond)(const char *response, void *user_data, det_error *err);
  void *user_data; /**< Of the functions. */
} det_keras_workloads;

/** Initialiser of none. */
#define DET_KERAS_WORKLOADS_INIT \
  { sizeof(det_keras_workloads), NULL, NULL, NULL }

/** Trains a trial that the program made, to its end.
 * @param[in] build      Describes it.
 * @param[in] user_data  Of `build`.
 * @param[in] workloads  NULL: what the search asks for, after which the run is closed with its
 *                       outcome; of det_keras_context_from_config(): one batch of everything.
 * @return As from det_keras_run_trial(). With several ranks, standard error has the failure of a
 * rank already when this returns.   @since 0.1 */
DET_API det_status det_keras_train(det_keras_context *context, det_keras_build build,
                                   void *user_data, const det_keras_workloads *workloads,
                                   det_error *err) DET_NOEXCEPT;

/** Reads the arguments of main() as det_keras_run_trial() does.
 * @param[out] out  `{"config": {}, "external_id": "", "tests_one_batch": false}`, the first two
 * only where they are given; free it with det_free().
 * @return DET_OK; DET_E_INVALID (an option without a value, a configuration that cannot be).
 * @since 0.1 */
DET_API det_status det_keras_read_arguments(const char *const *arguments, size_t count, char **out,
                                            det_error *err) DET_NOEXCEPT;

/** Options of det_keras_run_trial(). What is NULL is left to the environment, as det_core_options
 * has it. */
typedef struct det_keras_run_options {
  size_t struct_size;             /**< sizeof(det_keras_run_options). */
  const char *const *arguments;   /**< Those of main(), the program's name first: `--config FILE` is
                                       the configuration in the place of `config_json`,
                                       `--external-id NAME` in that of `external_id`, and `--test`
                                       that of `tests_one_batch`. Others are not looked at. */
  size_t argument_count;          /**< Of `arguments`. */
  const char *config_json;        /**< The experiment configuration. */
  const char *hparams_json;       /**< The hyperparameters. */
  const char *external_id;        /**< The next start with the same one continues the trial. */
  const char *name;               /**< Of the experiment. */
  const char *master;             /**< A URL, or the directory of a store. */
  const char *checkpoint_storage; /**< A directory or URL. */
  int32_t tests_one_batch;        /**< 1: does the trial run at all? One batch is trained, one
                                       validated, and a checkpoint saved, of which nothing is kept;
                                       hyperparameters are drawn from their ranges. */
  int32_t reserved;               /**< 0. */
} det_keras_run_options;

/** Initialiser with the defaults. */
#define DET_KERAS_RUN_OPTIONS_INIT \
  { sizeof(det_keras_run_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 }

/** Trains a trial to its end: under `det run`, under mpirun, or by itself with what the options
 * say. SIGTERM asks it to save a checkpoint and leave. Blocks; one run at a time in a process. What
 * a trial fails with ends its run as failed, to be gone on with.
 * @param[in] build      Describes it.
 * @param[in] user_data  Of `build`.
 * @param[in] options    NULL: the defaults.
 * @return DET_OK, also where it was asked to leave and, but for a test, where its hyperparameters
 * cannot be trained (DET_KERAS_INVALID_HP); what a function of the program failed with;
 * DET_E_INVALID (arguments, a configuration or data that cannot be, batches of changing shape),
 * DET_E_STATE (`build` said of no model, or of no data), and as from det_core_init() and
 * det_nn_model_train_on_batch().   @since 0.1 */
DET_API det_status det_keras_run_trial(det_keras_build build, void *user_data,
                                       const det_keras_run_options *options,
                                       det_error *err) DET_NOEXCEPT;

/** The model of a checkpoint, with its weights, to predict with.
 * @param[in]  directory  Of a checkpoint that is there whole.
 * @param[out] out        Release it with det_nn_model_free().
 * @return DET_OK; DET_E_INVALID (that is no checkpoint of such a trial), DET_E_CORRUPT, DET_E_IO
 * and the like, DET_E_NOMEM.   @since 0.1 */
DET_API det_status det_keras_load_model(const char *directory, det_nn_model **out,
                                        det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
