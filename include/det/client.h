/**
 * @file
 * @brief Reads and steers experiments, trials, metrics, checkpoints and logs.
 *
 * It works on any store or master, and does for programs what the `det` command does.
 *
 * Answers are JSON text. Release them with det_free(). A later release may add keys. Times are
 * ISO-8601 in UTC. JSON has no number for some values. These are the texts "NaN", "Infinity" and
 * "-Infinity". docs/client.md lists the keys of every answer.
 */
#ifndef DET_CLIENT_H
#define DET_CLIENT_H

#include <det/log.h>
#include <det/storage.h>

DET_BEGIN_DECLS

/** A connection to a store or a master. Owned by the caller. */
typedef struct det_client det_client;

/** Selects the part of a list to answer with. */
typedef struct det_client_page {
  size_t struct_size; /**< sizeof(det_client_page). */
  int64_t after;      /**< Only entries after this cursor: `next` of the last answer. 0: start. */
  int64_t limit;      /**< The greatest number of entries; 0 = 1,000. */
  int32_t descending; /**< 1: newest first, if the list has an order in time. */
  int32_t by_metric;  /**< 1: trials of one experiment, the best first; descending: the worst. */
  /* These filters are for lists of experiments and of trials. In other lists they are
   * DET_E_INVALID. A trial has the name and the tags of its experiment, and is archived with it. */
  const char *state; /**< Any of these states, separated by commas. NULL: any. */
  const char *name;  /**< Those whose name matches this glob: "digits*". NULL: any. */
  const char *tag;   /**< Those with this tag. NULL: any. */
  /** 0: entries that are not archived, and the trials of an experiment that you name. 1:
   * archived ones only. 2: all. */
  int32_t archived;
  int32_t running; /**< 1: only those with a live process. */
} det_client_page;

/** Initialiser with the defaults. */
#define DET_CLIENT_PAGE_INIT \
  { sizeof(det_client_page), 0, 0, 0, 0, NULL, NULL, NULL, 0, 0 }

/** Names the store or master, and the user. NULL or 0 in a member means the default named here. */
typedef struct det_client_options {
  size_t struct_size; /**< sizeof(det_client_options). */
  const char *master; /**< As `master` of det_core_options. NULL for the same default. */
  /** For a master over HTTP. With `password` (which may be "") this user is logged in when needed.
   * Without `password` there must be a kept login of this user. NULL: the variable DET_USER if
   * DET_PASS is set too, else the user who is logged in. */
  const char *user;
  const char *password; /**< Not kept. NULL: the variable DET_PASS, for the user in DET_USER. */
  const char *token;    /**< For a master over HTTP, in place of a login. Not kept. */
  /** A PEM file with the certificate of the master or of its authority. NULL: the variable
   * DET_MASTER_CERT_FILE, else the one that det_client_login() kept. The certificates that the
   * machine trusts count too. */
  const char *cert_file;
  /** The time limit for an answer of a master over HTTP, including repeats. By default it is 60
   * seconds for each try. DET_TIMEOUT_NONE is DET_E_INVALID. */
  det_timeout timeout_ms;

  det_log_callback log; /**< Receives log lines. NULL: they are dropped. */
  void *log_user_data;  /**< For `log`. */
  /** Called once with `log_user_data`, on any thread, after the last call of `log`. This is at the
   * latest in det_client_free(), or at the end of a function that makes no handle. NULL: nothing to
   * release. */
  void (*log_destroy)(void *log_user_data);
  det_log_queue *log_queue; /**< Takes the lines, in place of `log`. */
  det_log_level log_level;  /**< Lines below it are dropped; by default DET_LOG_LEVEL_WARNING. */
  int32_t reserved;         /**< 0. */
} det_client_options;

/** Initialiser with the defaults. */
#define DET_CLIENT_OPTIONS_INIT \
  { sizeof(det_client_options), NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 0, 0 }

/** Opens a store or a master for reading and steering.
 *
 * It makes nothing: a missing store is an error.
 * @param[in]  options  NULL for the defaults. Copied.
 * @param[out] out      Receives the handle. Release it with det_client_free(). NULL on failure.
 * @retval DET_OK             `out` has the handle.
 * @retval DET_E_NOT_FOUND    There is no store at that place.
 * @retval DET_E_BUSY         The store is locked. Call again.
 * @retval DET_E_UNSUPPORTED  The store is of a newer release.
 * @retval DET_E_ACCESS       Permission or a login is missing.
 * @retval DET_E_CORRUPT      The store is damaged.
 * @retval DET_E_IO           Reading failed.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @since 0.1 */
DET_API det_status det_client_open(const det_client_options *options, det_client **out,
                                   det_error *err) DET_NOEXCEPT;

/** Closes and releases the handle. NULL does nothing.
 * @since 0.1 */
DET_API void det_client_free(det_client *client) DET_NOEXCEPT;

/** Logs a user in to a master over HTTP, and keeps the token.
 *
 * The token is kept in the user's config directory. The `det` command and the user's programs find
 * it there. It blocks for a few seconds, because masters check passwords slowly on purpose. It
 * tries once.
 * @param[in]  options   `user` and `password`, else the variables DET_USER and DET_PASS. From then
 *                       on the certificates of `cert_file` are trusted for this master. `token`
 *                       must be NULL.
 * @param[out] out_json  May be NULL. Receives {"master", "username", "id", "admin"}. Release it
 *                       with det_free().
 * @retval DET_OK             The user is logged in.
 * @retval DET_E_ACCESS       The user or password is wrong, or a certificate is not trusted.
 * @retval DET_E_INVALID      No user is given, or `master` is a store in a directory.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_TIMEOUT      The master does not answer in time.
 * @retval DET_E_IO           The token could not be read or written.
 * @retval DET_E_CORRUPT      The answer or the kept logins cannot be read.
 * @since 0.1 */
DET_API det_status det_client_login(const det_client_options *options, char **out_json,
                                    det_error *err) DET_NOEXCEPT;

/** Logs a user out, and removes the token here and on the master.
 *
 * It blocks for one request. A master that does not answer is no error. The token then stays valid
 * until it expires.
 * @param[in]  options   `user`: NULL for the user who is logged in.
 * @param[out] out_json  May be NULL. Receives {"master", "username", "revoked"}. "revoked" is true
 *                       if the master ended the token. Release it with det_free().
 * @retval DET_OK           The user is logged out.
 * @retval DET_E_NOT_FOUND  The user is not logged in.
 * @retval DET_E_INVALID    An option is wrong.
 * @retval DET_E_ACCESS     Permission is missing.
 * @retval DET_E_IO         The token could not be removed.
 * @retval DET_E_CORRUPT    The answer or the kept logins cannot be read.
 * @since 0.1 */
DET_API det_status det_client_logout(const det_client_options *options, char **out_json,
                                     det_error *err) DET_NOEXCEPT;

/** Gets the user as whom programs of this user work with a master over HTTP.
 *
 * The first that is set counts:
 * - DET_USER with DET_PASS
 * - the user who is logged in
 * - DET_USER with DET_USER_TOKEN
 * - the user that a new master has
 *
 * It blocks for a few requests.
 * @param[in]  options   As for det_client_open().
 * @param[out] out_json  Receives an answer like that of det_client_login(). NULL on failure.
 * @retval DET_OK             `out_json` has the user.
 * @retval DET_E_ACCESS       Nobody is logged in, or the login has expired.
 * @retval DET_E_INVALID      An option is wrong.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_TIMEOUT      The master does not answer in time.
 * @retval DET_E_IO           The token could not be read.
 * @retval DET_E_CORRUPT      The answer or the kept logins cannot be read.
 * @since 0.1 */
DET_API det_status det_client_whoami(const det_client_options *options, char **out_json,
                                     det_error *err) DET_NOEXCEPT;

/** Lists experiments: {"experiments": [...], "next": cursor or null}.
 *
 * It blocks for one request, and so do all functions below. With a filter on a master over HTTP, a
 * list may need several requests.
 * @param[in]  page      NULL for the defaults.
 * @param[out] out_json  Receives the answer. Release it with det_free(). NULL on failure.
 * @retval DET_OK             `out_json` has the answer.
 * @retval DET_E_INVALID      An argument is wrong.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_IO           Reading the store failed.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_ACCESS       The master wants a login. Log in.
 * @retval DET_E_CORRUPT      The master's answer cannot be read.
 * @since 0.1 */
DET_API det_status det_client_list_experiments(det_client *client, const det_client_page *page,
                                               char **out_json, det_error *err) DET_NOEXCEPT;

/** Gets one experiment, with its configuration and trials.
 *
 * "tensorboard" lists the directories and buckets that may have its TensorBoard files.
 * @retval DET_E_NOT_FOUND  There is no such experiment.
 * @return Else as det_client_list_experiments().
 * @since 0.1 */
DET_API det_status det_client_get_experiment(det_client *client, int64_t experiment_id,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Lists the trials of an experiment: {"trials": [...], "next": cursor or null}.
 * @param[in] experiment_id  0 for the trials of all experiments. With `by_metric` of the page that
 *                           is DET_E_INVALID.
 * @return As det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_list_trials(det_client *client, int64_t experiment_id,
                                          const det_client_page *page, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** Gets one trial.
 *
 * The answer has its hyperparameters, runs, operations, latest checkpoint and metric names. It also
 * has the number of reports that wait in journals of dead processes.
 * @return As det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_get_trial(det_client *client, int64_t trial_id, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** Lists reports of a trial, in the order in which they were made.
 *
 * The answer is `{"metrics": [{"group", "steps_completed", "trial_run_id", "rank", "time",
 * "metrics": {...}, "batch_metrics"}], "next": cursor or null}`. A page of long reports has fewer
 * of them than its limit.
 * @param[in] group  NULL for every group.
 * @return As det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_list_metrics(det_client *client, int64_t trial_id, const char *group,
                                           const det_client_page *page, char **out_json,
                                           det_error *err) DET_NOEXCEPT;

/** The values of one metric of a trial, by step. They are three arrays of the same length. Owned by
 * the caller. */
typedef struct det_metric_series det_metric_series;

/** Reads all values of one metric, in the order in which they were reported.
 *
 * Use it for a plot or an array. Values that are not numbers are left out. It blocks for one
 * request per 1,000 reports of the group.
 * @param[in]  group  "training", "validation", or another group of the trial.
 * @param[in]  name   Of the metric.
 * @param[out] out    Receives the series. It is empty if there is no such metric. Release it with
 *                    det_metric_series_free(). NULL on failure.
 * @return As det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_get_metric_series(det_client *client, int64_t trial_id,
                                                const char *group, const char *name,
                                                det_metric_series **out,
                                                det_error *err) DET_NOEXCEPT;

/** Returns the number of values; 0 for NULL.
 * @since 0.1 */
DET_API size_t det_metric_series_count(const det_metric_series *series) DET_NOEXCEPT;

/** Returns the steps of the values. Values of the profiler belong to no step, and have -1.
 * @return An array borrowed from `series`; NULL for NULL and for an empty series.
 * @since 0.1 */
DET_API const int64_t *det_metric_series_steps_completed(const det_metric_series *series)
    DET_NOEXCEPT;

/** Returns the values. NaN and infinities are kept.
 * @return An array borrowed from `series`; NULL for NULL and for an empty series.
 * @since 0.1 */
DET_API const double *det_metric_series_values(const det_metric_series *series) DET_NOEXCEPT;

/** Returns the times of measurement, in microseconds since 1970 in UTC. A time is 0 if the master
 * does not give it.
 * @return An array borrowed from `series`; NULL for NULL and for an empty series.
 * @since 0.1 */
DET_API const int64_t *det_metric_series_times_us(const det_metric_series *series) DET_NOEXCEPT;

/** Releases a series. NULL does nothing.
 * @since 0.1 */
DET_API void det_metric_series_free(det_metric_series *series) DET_NOEXCEPT;

/** Gets a trace of the time of a trial, for Perfetto and chrome://tracing.
 *
 * It has the regions of the trial (det_train_begin_region()) in the Trace Event format. Each rank
 * of each run is a process. Each thread of the rank is a thread in it. The newest 50,000 reports
 * are counters.
 *
 * A store has the last 16,383 regions of each thread, of the last ten runs. That includes runs that
 * are running or were killed. Older regions, and all regions of a master over HTTP, are the
 * reported sums. Their slices have the right length, but not the right place. It blocks.
 * @param[out] out_json  Receives {"traceEvents": [...], ...}. NULL on failure.
 * @return As det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_get_trace(det_client *client, int64_t trial_id, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** Lists the names in all reports of a trial, by group: `{"training": ["loss", "accuracy"]}`.
 *
 * In a store it is fast even with 10,000,000 reports. det_client_get_trial() reads only some
 * reports.
 * @return As det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_list_metric_names(det_client *client, int64_t trial_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Lists checkpoints.
 *
 * The answer is `{"checkpoints": [{"uuid", "trial_id", "steps_completed", "state", "size", "time",
 * "metadata", "resources", "pinned"}], "next": cursor or null}`. "pinned" is null over HTTP.
 * @param[in] trial_id  0 for the checkpoints of all trials.
 * @return As det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_list_checkpoints(det_client *client, int64_t trial_id,
                                               const det_client_page *page, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

/** Gets one checkpoint, and where it is stored.
 *
 * Secrets in that are "********". det_client_open_storage() opens the storage.
 * @return As det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_get_checkpoint(det_client *client, const char *storage_id,
                                             char **out_json, det_error *err) DET_NOEXCEPT;

/** Opens the storage of a checkpoint.
 *
 * It uses the credentials that the store or the master has for the storage, if any.
 * @param[in]  storage_id  The whole id of the checkpoint.
 * @param[out] out         Receives the handle. Release it with det_storage_free(). It stays valid
 *                         after det_client_free().
 * @retval DET_E_UNSUPPORTED  A library is missing, or the master does not give the storage.
 * @return Else as det_client_get_checkpoint() and det_storage_open().
 * @since 0.1 */
DET_API det_status det_client_open_storage(det_client *client, const char *storage_id,
                                           det_storage **out, det_error *err) DET_NOEXCEPT;

/** Finds one checkpoint by the beginning of its id, at least 4 characters.
 *
 * A whole id is always that checkpoint. On a master all checkpoints are read, unless the id is
 * whole.
 * @retval DET_E_CONFLICT  Several ids begin with the text. The message names them.
 * @retval DET_E_INVALID   The text is too short.
 * @return Else as det_client_get_checkpoint().
 * @since 0.1 */
DET_API det_status det_client_find_checkpoint(det_client *client, const char *text, char **out_json,
                                              det_error *err) DET_NOEXCEPT;

/** Finds one trial by its id or its external id.
 *
 * If a number is both, it is the id. "external:7" is the external id 7. On a master external ids
 * have the form EXPERIMENT/TRIAL.
 * @retval DET_E_INVALID      The text is empty.
 * @retval DET_E_UNSUPPORTED  A master cannot find this external id without its experiment.
 * @return Else as det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_find_trial(det_client *client, const char *text, char **out_json,
                                         det_error *err) DET_NOEXCEPT;

/** Lists log lines of a trial.
 *
 * The answer is `{"logs": [{"time", "level", "rank", "trial_run_id", "text"}], "next": cursor or
 * null}`.
 * @return As det_client_get_trial().
 * @since 0.1 */
DET_API det_status det_client_list_logs(det_client *client, int64_t trial_id,
                                        const det_client_page *page, char **out_json,
                                        det_error *err) DET_NOEXCEPT;

/** Gets the trial of an experiment with the best validation by `searcher.metric`, and its
 * checkpoint.
 *
 * The answer is `{"experiment_id", "name", "state", "searcher_metric", "smaller_is_better",
 * "trial": entry or null, "checkpoint": entry with "storage" and "directory", or null}`. In a store
 * it is fast even with 100,000 trials.
 * @return As det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_best_trial(det_client *client, int64_t experiment_id, char **out_json,
                                         det_error *err) DET_NOEXCEPT;

/** Estimates how much each hyperparameter influences the metric, over the finished trials of an
 * experiment.
 *
 * The answer is `{"experiment_id", "searcher_metric", "smaller_is_better", "trials": their number,
 * "explained", "hparams": [{"name", "type", "log", "importance", "error", "p_value", "trend",
 * "trials", "groups"}]}`. The most important is first. Hyperparameters that do not vary are left
 * out. It reads all trials.
 * @retval DET_E_STATE  Fewer than 4 finished trials have a value of the metric, or the
 *                      configuration names no metric.
 * @return Else as det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_hparam_importance(det_client *client, int64_t experiment_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Deletes the files of the checkpoints that an experiment does not keep, and marks them as
 * deleted.
 *
 * `checkpoint_storage.save_*` of its configuration sets how many are kept. It blocks until the
 * files are gone. Failures are logged. The next call tries again.
 * @param[in]  dry_run   1: delete nothing, and answer as if.
 * @param[out] out_json  May be NULL. Receives `{"checkpoints": [{"uuid", "trial_id",
 *                       "steps_completed", "size"}], "size": bytes, "failures": checkpoints that
 *                       could not be deleted}`. Release it with det_free().
 * @retval DET_E_STATE        The experiment is not over, and its trials may need the checkpoints.
 * @retval DET_E_INVALID      The metric of a validation is not a number.
 * @retval DET_E_UNSUPPORTED  A master over HTTP does this itself.
 * @return Else as det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_collect_garbage(det_client *client, int64_t experiment_id,
                                              int32_t dry_run, char **out_json,
                                              det_error *err) DET_NOEXCEPT;

/** Deletes the files of a checkpoint, and marks it as deleted.
 *
 * It blocks until the files are gone. If the process is killed in between, no run starts from the
 * checkpoint any more. Call again to finish the deletion.
 * @param[in]  storage_id  The whole id. det_client_find_checkpoint() finds it.
 * @param[out] out_json    May be NULL. Receives {"uuid", "size": the bytes that it had}. Release it
 *                         with det_free().
 * @retval DET_OK             The checkpoint is deleted.
 * @retval DET_E_NOT_FOUND    There is no such checkpoint.
 * @retval DET_E_STATE        It is pinned, or an experiment that is not over starts from it.
 * @retval DET_E_UNSUPPORTED  The master does not give its storage.
 * @retval DET_E_ACCESS       Permission or credentials are missing.
 * @retval DET_E_IO           Deleting failed.
 * @retval DET_E_UNAVAILABLE  The master or the storage does not answer.
 * @since 0.1 */
DET_API det_status det_client_delete_checkpoint(det_client *client, const char *storage_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Keeps a checkpoint until it is unpinned.
 *
 * No rule of `checkpoint_storage.save_*` deletes a pinned checkpoint.
 * det_client_delete_checkpoint() and det_client_delete_experiment() refuse to delete it. A repeat
 * is no error.
 * @param[in]  storage_id  The whole id. det_client_find_checkpoint() finds it.
 * @param[in]  pinned      1 to pin it, 0 to unpin it.
 * @param[out] out_json    May be NULL. Receives its entry, as det_client_get_checkpoint().
 * @retval DET_OK             The checkpoint is pinned or unpinned.
 * @retval DET_E_NOT_FOUND    There is no such checkpoint.
 * @retval DET_E_STATE        It is deleted, or its deletion has begun.
 * @retval DET_E_UNSUPPORTED  It is on a master over HTTP, which keeps the versions of its models.
 * @since 0.1 */
DET_API det_status det_client_pin_checkpoint(det_client *client, const char *storage_id,
                                             int32_t pinned, char **out_json,
                                             det_error *err) DET_NOEXCEPT;

/** Sums up the reported sizes of the checkpoints of each experiment.
 *
 * The answer is `{"experiments": [{"experiment_id", "name", "checkpoints": the number that is not
 * deleted, "size": their bytes}]}`, the largest first. On a master over HTTP it reads all
 * checkpoints.
 * @return As det_client_list_experiments().
 * @since 0.1 */
DET_API det_status det_client_checkpoint_usage(det_client *client, char **out_json,
                                               det_error *err) DET_NOEXCEPT;

/** Waits for the events of a search that a program decides (`searcher: {name: custom}`).
 *
 * It blocks until there is an event. The answer has the events to which no operations were posted
 * yet, the oldest first: `{"events": [{"id": 1, "initialOperations": {}}, {"id", "trialCreated":
 * {"requestId"}}, {"id", "validationCompleted": {"requestId", "metric", "validateAfterLength"}},
 * {"id", "trialExitedEarly": {"requestId", "exitedReason"}}, {"id", "trialClosed":
 * {"requestId"}}]}`.
 *
 * If the experiment is not active, there is one event of id -1 with `"experimentInactive":
 * {"state"}`. Follows SearchMethod.
 * @param[in] timeout_ms  After it the list is empty. By default it is 60 seconds.
 * @retval DET_E_STATE        The searcher of the experiment decides by itself.
 * @retval DET_E_UNSUPPORTED  The experiment is on a master over HTTP.
 * @return Else as det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_search_events(det_client *client, int64_t experiment_id,
                                            det_timeout timeout_ms, char **out_json,
                                            det_error *err) DET_NOEXCEPT;

/** Posts operations of a search that a program decides, and acknowledges events.
 *
 * All events up to `event_id` are acknowledged and do not come again. It blocks until `det run` has
 * carried out the operations. A failure means that nothing was posted.
 * @param[in]  event_id    Of the last event that you saw.
 * @param[in]  operations  A JSON list, perhaps empty, of:
 *                         - `{"createTrial": {"requestId": a new UUID, "hyperparams": JSON text}}`;
 *                         - `{"trialOperation": {"validateAfter": {"requestId", "length"}}}`;
 *                         - `{"closeTrial": {"requestId"}}`;
 *                         - `{"setSearcherProgress": {"progress"}}`;
 *                         - `{"shutDown": {"cancel", "failure"}}`.
 * @param[out] out_json    May be NULL. Receives {"refused": why some were left out, or null}.
 *                         Release it with det_free().
 * @retval DET_E_NOT_FOUND    No such event waits: it was acknowledged before.
 * @retval DET_E_INVALID      `operations` is not a list.
 * @retval DET_E_UNAVAILABLE  No `det run` runs the experiment.
 * @retval DET_E_TIMEOUT      `det run` has not answered for minutes. It may be stopped.
 * @return Else as det_client_search_events().
 * @since 0.1 */
DET_API det_status det_client_post_operations(det_client *client, int64_t experiment_id,
                                              int64_t event_id, const char *operations,
                                              char **out_json, det_error *err) DET_NOEXCEPT;

/** Changes the name, notes, tags or archived state of an experiment.
 *
 * Lists leave out archived experiments, and their trials are not started again.
 * @param[in]  changes_json  Any of `{"name": "...", "notes": "...", "tags": ["..."], "archived":
 *                           true}`. New tags replace the old ones. An empty object changes nothing.
 * @param[out] out_json      May be NULL. Receives the entry, as in det_client_list_experiments().
 *                           Release it with det_free().
 * @retval DET_E_INVALID  A key is unknown, or a value has the wrong type. Nothing was changed.
 * @retval DET_E_STATE    The experiment is not over, so it cannot be archived.
 * @return Else as det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_update_experiment(det_client *client, int64_t experiment_id,
                                                const char *changes_json, char **out_json,
                                                det_error *err) DET_NOEXCEPT;

/** Deletes an experiment that is over, for good.
 *
 * It deletes the files of its checkpoints and its TensorBoard files, then all its records. It
 * blocks until all is gone. If the process is killed in between, the state of the experiment is
 * DELETING. After a failure it is DELETE_FAILED. In both states none of its trials is started. Call
 * again to finish the deletion.
 * @param[out] out_json  May be NULL. Receives `{"experiment_id", "state": "DELETED", "checkpoints":
 *                       the number deleted now, "size": their bytes}`. Release it with det_free().
 *                       A master over HTTP deletes later: "DELETING", null, null.
 * @retval DET_E_STATE   The experiment is not over, or a process works on it. Or one of its
 *                       checkpoints is pinned. Or an experiment that is not over starts from one of
 *                       them.
 * @retval DET_E_ACCESS  Files could not be deleted: permission is missing. The message names them,
 *                       and the records are kept.
 * @retval DET_E_IO      The same: deleting failed. Other codes are possible.
 * @return Else as det_client_get_experiment().
 * @since 0.1 */
DET_API det_status det_client_delete_experiment(det_client *client, int64_t experiment_id,
                                                char **out_json, det_error *err) DET_NOEXCEPT;

/** Names the kind of object that det_client_control() acts on. */
typedef int32_t det_client_target;
#define DET_CLIENT_TARGET_EXPERIMENT 1 /**< An experiment with all its trials. */
#define DET_CLIENT_TARGET_TRIAL 2      /**< One trial. */

/** Names the action of det_client_control(). */
typedef int32_t det_client_action;
#define DET_CLIENT_ACTION_PAUSE \
  1 /**< Ask running trials to save and leave. They can resume later. */
#define DET_CLIENT_ACTION_ACTIVATE 2 /**< Let paused trials resume. */
#define DET_CLIENT_ACTION_CANCEL 3   /**< Ask running trials to save and leave, for good. */
#define DET_CLIENT_ACTION_KILL 4     /**< End running trials at once. */

/** Steers an experiment or a trial from any process. The action survives a power cut.
 * @param[in]  target    DET_CLIENT_TARGET_EXPERIMENT or DET_CLIENT_TARGET_TRIAL.
 * @param[in]  id        Of the experiment or trial.
 * @param[in]  action    One of DET_CLIENT_ACTION_*.
 * @param[out] out_json  May be NULL. Receives `{"state": new state, "signalled": the number of runs
 *                       that were asked, or null, "resume": command or null, "resume_note": text or
 *                       null}`. The note says what to do if only the command of one rank is known.
 *                       Release it with det_free().
 * @retval DET_OK             The action is done, or it was done before.
 * @retval DET_E_NOT_FOUND    There is no such experiment or trial.
 * @retval DET_E_STATE        The state does not allow the action any more. The message has the
 *                            reason.
 * @retval DET_E_UNSUPPORTED  A master pauses, activates and cancels only whole experiments.
 * @retval DET_E_INVALID      An argument is wrong.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_IO           Reading or writing the store failed.
 * @since 0.1 */
DET_API det_status det_client_control(det_client *client, det_client_target target, int64_t id,
                                      det_client_action action, char **out_json,
                                      det_error *err) DET_NOEXCEPT;

/** Ships the journals that ended or killed processes left behind.
 *
 * It leaves journals of running processes alone. Every report arrives once, even if you repeat the
 * call. It then survives a power cut.
 * @param[out] out_json  May be NULL. Receives `{"journals": [{"trial_id", "trial_run_id",
 *                       "reports", "lost_bytes", "refused"}], "busy": journals in use}`. Release it
 *                       with det_free().
 * @retval DET_OK             All is shipped.
 * @retval DET_E_BUSY         Another process holds the store. The rest is kept.
 * @retval DET_E_FULL         The disk of the store is full. The rest is kept.
 * @retval DET_E_IO           Reading or writing failed. The rest is kept.
 * @retval DET_E_UNAVAILABLE  The master does not answer. The rest is kept.
 * @since 0.1 */
DET_API det_status det_client_sync(det_client *client, char **out_json,
                                   det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
