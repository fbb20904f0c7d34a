/**
 * @file
 * @brief Reading and steering experiments, trials, metrics, checkpoints and logs in any store or on
 * any master: what the `det` command does, for programs.
 *
 * Answers are JSON text to release with det_free(). New keys may appear in a later release. Times
 * are ISO-8601 in UTC. Values that JSON has no number for are the texts "NaN", "Infinity",
 * "-Infinity". docs/client.md lists the keys of every answer.
 */
#ifndef DET_CLIENT_H
#define DET_CLIENT_H

#include <det/log.h>
#include <det/storage.h>

DET_BEGIN_DECLS

/** A connection to a store or a master. Owned by the caller. */
typedef struct det_client det_client;

/** Which part of a list to answer with. */
typedef struct det_client_page {
  size_t struct_size; /**< sizeof(det_client_page). */
  int64_t after; /**< Only entries behind this cursor: `next` of the answer before. 0: start. */
  int64_t limit; /**< At most so many entries; 0 = 1,000. */
  int32_t descending; /**< 1: newest first, where the list has an order in time. */
  int32_t by_metric;  /**< 1: trials of one experiment, the best first; descending: the worst. */
  /* Lists of experiments and of trials only, in others DET_E_INVALID. A trial has the name and the
   * tags of its experiment, and is archived with it. */
  const char *state; /**< One of these states, with commas between them. NULL: any. */
  const char *name;  /**< Those whose name matches this glob: "digits*". NULL: any. */
  const char *tag;   /**< Those with this tag. NULL: any. */
  int32_t archived;  /**< 0: those that are not archived, and trials of the experiment that is asked
                        for; 1: only archived ones; 2: all. */
  int32_t running;   /**< 1: only those with a process that is alive. */
} det_client_page;

/** Initialiser with the defaults. */
#define DET_CLIENT_PAGE_INIT \
  { sizeof(det_client_page), 0, 0, 0, 0, NULL, NULL, NULL, 0, 0 }

/** Which store or master, and who to be there. What is NULL or 0 takes the default named here. */
typedef struct det_client_options {
  size_t struct_size; /**< sizeof(det_client_options). */
  const char *master; /**< As `master` of det_core_options; NULL for the same default. */
  /** Of a master over HTTP. With `password` (which may be "") this user is logged in where that is
   * needed; without it a login of this user must have been kept. NULL: the variable DET_USER where
   * DET_PASS is set as well, else who is logged in. */
  const char *user;
  const char *password; /**< Not kept. NULL: the variable DET_PASS, for the user in DET_USER. */
  const char *token;    /**< Of a master over HTTP, in the place of a login. Not kept. */
  /** A PEM file with the certificate of the master or of its authority. NULL: the variable
   * DET_MASTER_CERT_FILE, else the one that det_client_login() kept, besides those that the machine
   * trusts. */
  const char *cert_file;
  /** How long an answer of a master over HTTP may take, repeats included; by default 60 seconds for
   * each try. DET_TIMEOUT_NONE is DET_E_INVALID. */
  det_timeout timeout_ms;

  det_log_callback log; /**< NULL: what is not an error is not told. */
  void *log_user_data;  /**< For `log`. */
  /** Called once with `log_user_data`, on any thread, when `log` will not be called any more: at
   * the latest in det_client_free(), or at the end of a function that makes no handle. NULL:
   * nothing to release. */
  void (*log_destroy)(void *log_user_data);
  det_log_queue *log_queue; /**< Takes the lines, in the place of `log`. */
  det_log_level log_level;  /**< Lines below are dropped; by default DET_LOG_LEVEL_WARNING. */
  int32_t reserved;         /**< 0. */
} det_client_options;

/** Initialiser with the defaults. */
#define DET_CLIENT_OPTIONS_INIT \
  { sizeof(det_client_options), NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0 }

/** Opens a store or a master for reading and steering. Makes nothing: a store that is not there is
 * an error.
 * @param[in]  options  NULL for the defaults. Copied.
 * @param[out] out      Receives the handle; release it with det_client_free(). NULL on failure.
 * @return DET_OK; DET_E_NOT_FOUND (no store there); DET_E_BUSY (locked); DET_E_UNSUPPORTED (a
 * store of a newer release); DET_E_ACCESS, DET_E_CORRUPT, DET_E_IO; of a master also
 * DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_client_open(const det_client_options *options, det_client **out,
                                   det_error *err) DET_NOEXCEPT;

/** Closes and releases the handle. NULL does nothing.   @since 0.1 */
DET_API void det_client_free(det_client *client) DET_NOEXCEPT;

/** Logs a user in to a master over HTTP, and keeps the token in the user's config directory, where
 * the `det` command and the programs of the user find it. Blocks for a few seconds: masters make
 * the check of a password slow on purpose. Tries once.
 * @param[in]  options   `user` and `password`, else the variables DET_USER and DET_PASS. The
 *                       certificates of `cert_file` are trusted for this master from then on.
 *                       `token` must be NULL.
 * @param[out] out_json  May be NULL. Receives {"master", "username", "id", "admin"}, to release
 *                        with det_free().
 * @return DET_OK; DET_E_ACCESS (no such user with this password, or a certificate that is not
 * trusted); DET_E_INVALID (no user, a store in a directory); DET_E_UNAVAILABLE, DET_E_TIMEOUT,
 * DET_E_IO, DET_E_CORRUPT.   @since 0.1 */
DET_API det_status det_client_login(const det_client_options *options, char **out_json,
                                    det_error *err) DET_NOEXCEPT;

/** Logs a user out: removes the token, here and on the master. Blocks for one request; a master
 * that does not answer is no error, but then the token stays good until it expires.
 * @param[in]  options   `user`: NULL for the one who is logged in.
 * @param[out] out_json  May be NULL. Receives {"master", "username", "revoked": whether the master
 *                       ended the token}, to release with det_free().
 * @return DET_OK; DET_E_NOT_FOUND (not logged in); DET_E_INVALID, DET_E_ACCESS, DET_E_IO,
 * DET_E_CORRUPT.   @since 0.1 */
DET_API det_status det_client_logout(const det_client_options *options, char **out_json,
                                     det_error *err) DET_NOEXCEPT;

/** Who programs of this user are to a master over HTTP: DET_USER with DET_PASS, else the user who
 * is logged in, else DET_USER with DET_USER_TOKEN, else the user that a new master has. Blocks for
 * a few requests.
 * @param[in]  options   As for det_client_open().
 * @param[out] out_json  Receives the answer as of det_client_login(); NULL on failure.
 * @return DET_OK; DET_E_ACCESS (nobody is logged in, or not any more); DET_E_INVALID;
 * DET_E_UNAVAILABLE, DET_E_TIMEOUT, DET_E_IO, DET_E_CORRUPT.   @since 0.1 */
DET_API det_status det_client_whoami(const det_client_options *options, char **out_json,
                                     det_error *err) DET_NOEXCEPT;

/** Lists experiments: {"experiments": [...], "next": cursor or null}. Blocks for one request, as
 * do all functions below; lists with a filter on a master over HTTP for as many as it takes.
 * @param[in]  page      NULL for the defaults.
 * @param[out] out_json  Receives the answer, to release with det_free(); NULL on failure.
 * @return DET_OK; DET_E_INVALID; DET_E_BUSY, DET_E_IO; of a master also DET_E_UNAVAILABLE,
 * DET_E_ACCESS (log in), DET_E_CORRUPT (not understood).   @since 0.1 */
DET_API det_status det_client_list_experiments(det_client *client, const det_client_page *page,
                                               char **out_json, det_error *err) DET_NOEXCEPT;

/** One experiment with its configuration and trials, and "tensorboard": the directories and buckets
 * that its TensorBoard files may be in. Errors as det_client_list_experiments(), and
 * DET_E_NOT_FOUND.   @since 0.1 */
DET_API det_status det_client_get_experiment(det_client *client, int64_t experiment_id,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Lists the trials of an experiment: {"trials": [...], "next": cursor or null}. Errors as
 * det_client_get_experiment().
 * @param[in] experiment_id  0 for the trials of all experiments, which page.by_metric does not
 *                           allow: DET_E_INVALID.   @since 0.1 */
DET_API det_status det_client_list_trials(det_client *client, int64_t experiment_id,
                                          const det_client_page *page, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** One trial with its hyperparameters, runs, operations, latest checkpoint, metric names, and how
 * many reports wait in journals left behind. Errors as det_client_get_experiment().   @since 0.1 */
DET_API det_status det_client_get_trial(det_client *client, int64_t trial_id, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** Lists reports of a trial in the order they were made: {"metrics": [{"group", "steps_completed",
 * "trial_run_id", "rank", "time", "metrics": {...}, "batch_metrics"}], "next": cursor or null}. A
 * page of long reports has fewer of them than its limit.
 * @param[in] group  NULL for every group.   @since 0.1 */
DET_API det_status det_client_list_metrics(det_client *client, int64_t trial_id, const char *group,
                                           const det_client_page *page, char **out_json,
                                           det_error *err) DET_NOEXCEPT;

/** The values of one metric of a trial, by step, as three arrays of the same length; owned by the
 * caller. */
typedef struct det_metric_series det_metric_series;

/** Reads all values of one metric, in the order they were reported: for a plot, or an array of the
 * caller's. Values that are no number are left out. Blocks for a request for each 1,000 reports of
 * the group.
 * @param[in]  group  "training", "validation", or one of the trial's own.
 * @param[in]  name   Of the metric.
 * @param[out] out    Receives the series, empty where there is no such metric; release with
 *                    det_metric_series_free(). NULL on failure.
 * @return As det_client_get_trial().   @since 0.1 */
DET_API det_status det_client_get_metric_series(det_client *client, int64_t trial_id,
                                                const char *group, const char *name,
                                                det_metric_series **out,
                                                det_error *err) DET_NOEXCEPT;

/** Number of values. 0 for NULL.   @since 0.1 */
DET_API size_t det_metric_series_count(const det_metric_series *series) DET_NOEXCEPT;

/** The steps of the values; -1 for those that the profiler measured, which belong to no step.
 * @return An array borrowed from `series`; NULL for NULL and for none.   @since 0.1 */
DET_API const int64_t *det_metric_series_steps_completed(const det_metric_series *series)
    DET_NOEXCEPT;

/** The values; NaN and infinities are kept.
 * @return An array borrowed from `series`; NULL for NULL and for none.   @since 0.1 */
DET_API const double *det_metric_series_values(const det_metric_series *series) DET_NOEXCEPT;

/** When the values were measured, in microseconds since 1970 (UTC); 0 where the master does not
 * say.
 * @return An array borrowed from `series`; NULL for NULL and for none.   @since 0.1 */
DET_API const int64_t *det_metric_series_times_us(const det_metric_series *series) DET_NOEXCEPT;

/** Releases a series. NULL does nothing.   @since 0.1 */
DET_API void det_metric_series_free(det_metric_series *series) DET_NOEXCEPT;

/** Where the time of a trial went: its regions (det_train_begin_region()) as a trace in the Trace
 * Event format, for Perfetto and chrome://tracing. A process for each rank of each run, in it a
 * thread for each of the rank's own, and what it has reported as counters: the newest 50,000
 * reports. A store has the last 16,383 regions of each thread, also of a run that goes on or was
 * killed, and of the last ten runs; what is older, and all of a master over HTTP, are the sums that
 * were reported, as slices whose length is right but whose place is not. Blocks.
 * @param[out] out_json  Receives {"traceEvents": [...], ...}; NULL on failure.
 * @return As det_client_get_trial().   @since 0.1 */
DET_API det_status det_client_get_trace(det_client *client, int64_t trial_id, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** The names in all reports of a trial, by group: {"training": ["loss", "accuracy"]}. Quick in a
 * store, with 10,000,000 reports as well; det_client_get_trial() looks at some reports
 * only.   @since 0.1 */
DET_API det_status det_client_list_metric_names(det_client *client, int64_t trial_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Lists checkpoints: {"checkpoints": [{"uuid", "trial_id", "steps_completed", "state", "size",
 * "time", "metadata", "resources", "pinned"}], "next": cursor or null}. "pinned" is null over HTTP.
 * @param[in] trial_id  0 for the checkpoints of all trials.   @since 0.1 */
DET_API det_status det_client_list_checkpoints(det_client *client, int64_t trial_id,
                                               const det_client_page *page, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

/** One checkpoint, with where it is stored; what is secret of that is "********".
 * det_client_open_storage() opens it. Errors as det_client_get_experiment().   @since 0.1 */
DET_API det_status det_client_get_checkpoint(det_client *client, const char *storage_id,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Opens the storage that a checkpoint is in, with the credentials that the store or the master has
 * for it, if any.
 * @param[in]  storage_id  The whole id of the checkpoint.
 * @param[out] out         Receives the handle; release with det_storage_free(). It does not need
 *                         the client any more.
 * @return As det_client_get_checkpoint() and det_storage_open(); DET_E_UNSUPPORTED also where a
 * master does not say where the checkpoint is.   @since 0.1 */
DET_API det_status det_client_open_storage(det_client *client, const char *storage_id,
                                           det_storage **out, det_error *err) DET_NOEXCEPT;

/** One checkpoint by the beginning of its id, at least 4 characters; an id in full is always that
 * checkpoint. Of a master all checkpoints are read, unless the id is whole.
 * @return As det_client_get_checkpoint(); DET_E_CONFLICT (several begin so; the message names
 * them); DET_E_INVALID (too short).   @since 0.1 */
DET_API det_status det_client_find_checkpoint(det_client *client, const char *text, char **out_json,
                                              det_error *err) DET_NOEXCEPT;

/** One trial by its id or its external id. A number that is both is the id; "external:7" is the
 * external id 7. A master has external ids as EXPERIMENT/TRIAL.
 * @return As det_client_get_trial(); DET_E_INVALID (empty); DET_E_UNSUPPORTED (an external id that
 * a master does not know by itself).   @since 0.1 */
DET_API det_status det_client_find_trial(det_client *client, const char *text, char **out_json,
                                         det_error *err) DET_NOEXCEPT;

/** Lists log lines of a trial: {"logs": [{"time", "level", "rank", "trial_run_id", "text"}],
 * "next": cursor or null}.   @since 0.1 */
DET_API det_status det_client_list_logs(det_client *client, int64_t trial_id,
                                        const det_client_page *page, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** The trial of an experiment with the best validation by `searcher.metric`, and the checkpoint to
 * take from it: {"experiment_id", "name", "state", "searcher_metric", "smaller_is_better", "trial":
 * entry or null, "checkpoint": entry with "storage" and "directory", or null}. Quick in a store,
 * with 100,000 trials as well. Errors as det_client_get_experiment().   @since 0.1 */
DET_API det_status det_client_best_trial(det_client *client, int64_t experiment_id, char **out_json,
                                         det_error *err) DET_NOEXCEPT;

/** How much each hyperparameter that varies has to do with the metric, over the finished trials of
 * an experiment: {"experiment_id", "searcher_metric", "smaller_is_better", "trials": how many,
 * "explained", "hparams": [{"name", "type", "log", "importance", "error", "p_value", "trend",
 * "trials", "groups"}]}, the most important first. Reads all trials.
 * @return As det_client_get_experiment(); DET_E_STATE (fewer than 4 finished trials have a value of
 * the metric, or the configuration names none).   @since 0.1 */
DET_API det_status det_client_hparam_importance(det_client *client, int64_t experiment_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Deletes the files of the checkpoints that `checkpoint_storage.save_*` of an experiment does not
 * keep, and marks them as deleted. Blocks until the files are gone. What fails is logged, and left
 * for the next time.
 * @param[in]  dry_run   1: deletes nothing, and answers what would be.
 * @param[out] out_json  May be NULL. Receives {"checkpoints": [{"uuid", "trial_id",
 *                       "steps_completed", "size"}], "size": bytes, "failures": checkpoints that
 *                       could not be deleted}, to release with det_free().
 * @return As det_client_get_experiment(); DET_E_STATE (it is not over: its trials may need them);
 * DET_E_INVALID (a validation whose metric is no number); DET_E_UNSUPPORTED (a master over HTTP
 * does it by itself).   @since 0.1 */
DET_API det_status det_client_collect_garbage(det_client *client, int64_t experiment_id,
                                              int32_t dry_run, char **out_json,
                                              det_error *err) DET_NOEXCEPT;

/** Deletes the files of a checkpoint, and marks it as deleted. Blocks until the files are gone. Who
 * is killed in it leaves a checkpoint that nothing starts from; calling this again goes on.
 * @param[in]  storage_id  The whole id; det_client_find_checkpoint() finds it.
 * @param[out] out_json    May be NULL. Receives {"uuid", "size": bytes that it had}, to release
 * with det_free().
 * @return DET_OK; DET_E_NOT_FOUND; DET_E_STATE (it is pinned, or an experiment that is not over
 * starts from it); DET_E_UNSUPPORTED (a master that does not say where it is);
 * DET_E_ACCESS, DET_E_IO, DET_E_UNAVAILABLE.   @since 0.1 */
DET_API det_status det_client_delete_checkpoint(det_client *client, const char *storage_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Keeps a checkpoint until it is unpinned: no rule of `checkpoint_storage.save_*` collects it, and
 * det_client_delete_checkpoint() and det_client_delete_experiment() refuse.
 * @param[in]  storage_id  The whole id; det_client_find_checkpoint() finds it.
 * @param[in]  pinned      1 to pin it, 0 to unpin it. Doing so again is no error.
 * @param[out] out_json    May be NULL. Receives its entry, as of det_client_get_checkpoint().
 * @return DET_OK; DET_E_NOT_FOUND; DET_E_STATE (it is deleted, or somebody began to delete it);
 * DET_E_UNSUPPORTED (a master over HTTP keeps the versions of its models).   @since 0.1 */
DET_API det_status det_client_pin_checkpoint(det_client *client, const char *storage_id,
                                             int32_t pinned, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** What the checkpoints of each experiment take, as they were reported: {"experiments":
 * [{"experiment_id", "name", "checkpoints": how many are not deleted, "size": their bytes}]}, the
 * largest first. Of a master over HTTP all checkpoints are read.   @since 0.1 */
DET_API det_status det_client_checkpoint_usage(det_client *client, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

/** The events of a search whose method is a program of its own (`searcher: {name: custom}`), those
 * that no operations were posted for, oldest first: {"events": [{"id": 1, "initialOperations": {}},
 * {"id", "trialCreated": {"requestId"}}, {"id", "validationCompleted": {"requestId", "metric",
 * "validateAfterLength"}}, {"id", "trialExitedEarly": {"requestId", "exitedReason"}}, {"id",
 * "trialClosed": {"requestId"}}]} (seed: SearchMethod). Where the experiment is not active, one
 * event of id -1 with "experimentInactive": {"state"}. Blocks until there is one.
 * @param[in] timeout_ms  Then the list is empty; by default 60 seconds.
 * @return As det_client_get_experiment(); DET_E_STATE (its searcher decides by itself);
 * DET_E_UNSUPPORTED (a master over HTTP).   @since 0.1 */
DET_API det_status det_client_search_events(det_client *client, int64_t experiment_id,
                                            det_timeout timeout_ms, char **out_json,
                                            det_error *err) DET_NOEXCEPT;

/** Posts operations of such a search, and acknowledges all events up to `event_id`, which come no
 * more. Blocks until `det run` has carried them out.
 * @param[in]  event_id    Of the last event that was seen.
 * @param[in]  operations  A JSON list of {"createTrial": {"requestId": a UUID of the caller's,
 *                         "hyperparams": JSON text}}, {"trialOperation": {"validateAfter":
 *                         {"requestId", "length"}}}, {"closeTrial": {"requestId"}},
 *                         {"setSearcherProgress": {"progress"}}, {"shutDown": {"cancel",
 *                         "failure"}}; may be empty.
 * @param[out] out_json    May be NULL. Receives {"refused": why some of them were left out, or
 *                         null}, to release with det_free().
 * @return As det_client_search_events(); DET_E_NOT_FOUND (no such event waits: it was acknowledged
 * before); DET_E_INVALID (no list); DET_E_UNAVAILABLE (no `det run` runs it);
 * DET_E_TIMEOUT (it has not answered for minutes: it may be stopped). Nothing was posted
 * then.   @since 0.1 */
DET_API det_status det_client_post_operations(det_client *client, int64_t experiment_id,
                                              int64_t event_id, const char *operations,
                                              char **out_json, det_error *err) DET_NOEXCEPT;

/** Changes what is noted about an experiment: {"name": "...", "notes": "...", "tags": ["..."],
 * "archived": true}, any of them; tags take the place of those before. What is archived is left out
 * of lists, and its trials are not started again.
 * @param[in]  changes_json  Only what changes; an empty object changes nothing.
 * @param[out] out_json      May be NULL. Receives the entry as of det_client_list_experiments(), to
 *                           release with det_free().
 * @return As det_client_get_experiment(); DET_E_INVALID (another key, or a value of another kind;
 * nothing was changed); DET_E_STATE (only what is over can be archived).   @since 0.1 */
DET_API det_status det_client_update_experiment(det_client *client, int64_t experiment_id,
                                                const char *changes_json, char **out_json,
                                                det_error *err) DET_NOEXCEPT;

/** Deletes an experiment that is over, for good: the files of its checkpoints and its TensorBoard
 * files, then all its records. Blocks until all is gone. A process that is killed in it leaves the
 * experiment in the state DELETING, and a failure in DELETE_FAILED: no trial of it is started any
 * more, and calling this again goes on.
 * @param[out] out_json  May be NULL. Receives {"experiment_id", "state": "DELETED", "checkpoints":
 *                       how many were deleted now, "size": bytes of them}, to release with
 *                       det_free(). A master over HTTP does it by and by: "DELETING", null, null.
 * @return As det_client_get_experiment(); DET_E_STATE (it is not over, a process works on it, one
 * of its checkpoints is pinned, or an experiment that is not over starts from them); DET_E_ACCESS,
 * DET_E_IO, … (files could not be deleted; the message says which, and the records are kept).
 * @since 0.1 */
DET_API det_status det_client_delete_experiment(det_client *client, int64_t experiment_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** What det_client_control() acts on. */
typedef int32_t det_client_target;
#define DET_CLIENT_TARGET_EXPERIMENT 1 /**< An experiment with all its trials. */
#define DET_CLIENT_TARGET_TRIAL 2      /**< One trial. */

/** What det_client_control() does. */
typedef int32_t det_client_action;
#define DET_CLIENT_ACTION_PAUSE \
  1 /**< Ask running trials to save and leave; they can go on later. */
#define DET_CLIENT_ACTION_ACTIVATE 2 /**< Let paused trials go on. */
#define DET_CLIENT_ACTION_CANCEL 3   /**< Ask running trials to save and leave, for good. */
#define DET_CLIENT_ACTION_KILL 4     /**< End running trials at once. */

/** Steers an experiment or a trial from any process. Survives a power cut.
 * @param[in]  target    One of DET_CLIENT_TARGET_EXPERIMENT, DET_CLIENT_TARGET_TRIAL.
 * @param[in]  id        Of the experiment or trial.
 * @param[in]  action    One of DET_CLIENT_ACTION_PAUSE … DET_CLIENT_ACTION_KILL.
 * @param[out] out_json  May be NULL. Receives {"state": new state, "signalled": runs that were
 *                       told, or null, "resume": command or null, "resume_note": what
 *                       to do where only the command of one rank is known, or null},
 *                       to release with det_free().
 * @return DET_OK, also when already in that state; DET_E_NOT_FOUND; DET_E_STATE (the state allows
 * it no more; the message says why); DET_E_UNSUPPORTED (a master pauses, activates and cancels all
 * trials of an experiment at once only); DET_E_INVALID; DET_E_BUSY, DET_E_IO.   @since 0.1 */
DET_API det_status det_client_control(det_client *client, det_client_target target, int64_t id,
                                      det_client_action action, char **out_json,
                                      det_error *err) DET_NOEXCEPT;

/** Ships the journals that ended or killed processes left behind. Journals of running processes
 * are left alone. Every report arrives once, however often this is repeated, and survives a power
 * cut.
 * @param[out] out_json  May be NULL. Receives {"journals": [{"trial_id", "trial_run_id", "reports",
 *                       "lost_bytes", "refused"}], "busy": journals in use}, to release with
 *                       det_free().
 * @return DET_OK; DET_E_BUSY, DET_E_FULL, DET_E_IO, DET_E_UNAVAILABLE (what was not shipped is
 * kept).   @since 0.1 */
DET_API det_status det_client_sync(det_client *client, char **out_json,
                                   det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
