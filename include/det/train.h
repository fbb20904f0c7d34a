/**
 * @file
 * @brief Reports metrics, status and progress, and times the phases of a program.
 *
 * A `det_train_context` is a view borrowed from `det_core`. It is valid until det_core_free().
 *
 * No report waits for disk or network. A report that returned DET_OK is in a memory-mapped journal,
 * which survives a kill of this process. A background thread delivers the journal to the master, in
 * order. A power cut may lose the last moments.
 *
 * With `durable_reports` of det_core_options these calls wait for the disk of the journal, and
 * survive a power cut. If that fails, they return DET_E_IO, and `retryable` is 0. The report was
 * still recorded.
 *
 * A run that resumes from a checkpoint repeats the reports after it. In an embedded store equal
 * values of a group and step count once.
 *
 * By convention only the chief reports. Any rank may report to the same trial, in a separate group.
 * Two ranks must not give one metric of one group and step different values. A rank that cannot
 * reach the chief's master gets DET_E_UNSUPPORTED (see det_core_init()).
 */
#ifndef DET_TRAIN_H
#define DET_TRAIN_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the reports. Borrowed from det_core_train(). Follows TrainContext. */
typedef struct det_train_context det_train_context;

/** One value of a report. */
typedef struct det_metric {
  const char *name; /**< UTF-8, 1 to 255 bytes. Copied. */
  double value;     /**< Any double; NaN and infinities are kept. */
} det_metric;

/** A report with all its parts. NULL or 0 in a member means the default named here. */
typedef struct det_report {
  size_t struct_size;        /**< sizeof(det_report). */
  const char *group;         /**< As for det_train_report_metrics(). NULL: "training". */
  int64_t steps_completed;   /**< As for det_train_report_training_metrics(). */
  const det_metric *metrics; /**< `count` values. May be NULL if `count` is 0. */
  size_t count;              /**< Entries of `metrics`. */
  /** More metrics, of any JSON type, as for det_train_report_metrics_json(). Their names differ
   * from those of `metrics`. NULL: none. */
  const char *metrics_json;
  const char *batch_metrics_json; /**< As for det_train_report_metrics_json(). NULL: none. */
  /** The time of measurement, in microseconds since 1970 in UTC. 0: now. */
  int64_t time_us;
  /** The rank that measured, if the chief reports for another rank: at most 65,535. 0: the rank
   * that reports. A master over HTTP does not keep it. */
  int32_t rank;
  int32_t reserved; /**< 0. */
} det_report;

/** Initialiser with the defaults. */
#define DET_REPORT_INIT \
  { sizeof(det_report), NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0 }

/** Reports training metrics.
 *
 * It needs no allocation, lock or system call. On two cores a report of 4 values takes 90 to 200 ns
 * (median). In a loop that does nothing else it takes 100 to 180 ns on average
 * (tests/bench/bench_report.cc). A busy machine takes longer. Follows
 * TrainContext.report_training_metrics().
 * @param[in] steps_completed  Steps since the beginning of the trial, not of this run. 0 or more,
 *                             and not below an earlier report of this group in this run.
 * @param[in] metrics          `count` values with different names. May be NULL if `count` is 0.
 * @retval DET_OK         The report is in the journal.
 * @retval DET_E_INVALID  The steps or the names are wrong.
 * @retval DET_E_FULL     The journal is full because the master does not keep up, or the disk is
 *                        full. Nothing was recorded.
 * @retval DET_E_STATE    The core is closed, or this is a forked child.
 * @since 0.1 */
DET_API det_status det_train_report_training_metrics(det_train_context *train,
                                                     int64_t steps_completed,
                                                     const det_metric *metrics, size_t count,
                                                     det_error *err) DET_NOEXCEPT;

/** Reports validation metrics. It is independent of det_searcher_op_report_completed(). Everything
 * else is as for det_train_report_training_metrics(). Follows
 * TrainContext.report_validation_metrics().
 * @since 0.1 */
DET_API det_status det_train_report_validation_metrics(det_train_context *train,
                                                       int64_t steps_completed,
                                                       const det_metric *metrics, size_t count,
                                                       det_error *err) DET_NOEXCEPT;

/** Reports metrics of a named group. In groups except "training" and "validation" the steps may
 * decrease. Everything else is as for det_train_report_training_metrics(). Follows
 * TrainContext.report_metrics().
 * @param[in] group  UTF-8, 1 to 255 bytes, no '.'. The built-in groups are "training" and
 *                   "validation".
 * @since 0.1 */
DET_API det_status det_train_report_metrics(det_train_context *train, const char *group,
                                            int64_t steps_completed, const det_metric *metrics,
                                            size_t count, det_error *err) DET_NOEXCEPT;

/** Reports metrics of any JSON type, with optional metrics per batch.
 *
 * It is slower than the others, because it parses. Follows `batch_metrics` of
 * TrainContext.report_training_metrics().
 * @param[in] metrics_json        A JSON object. Bare NaN and Infinity are accepted. In the group
 *                                "validation" no value may be null.
 * @param[in] batch_metrics_json  A JSON array of objects, or NULL. They are kept, can be read back,
 *                                and are plotted in TensorBoard.
 * @return As det_train_report_metrics().
 * @since 0.1 */
DET_API det_status det_train_report_metrics_json(det_train_context *train, const char *group,
                                                 int64_t steps_completed, const char *metrics_json,
                                                 const char *batch_metrics_json,
                                                 det_error *err) DET_NOEXCEPT;

/** Reports metrics of any kind, with the time and the rank of measurement.
 *
 * Without JSON it is as fast as det_train_report_training_metrics(). With JSON it is as fast as
 * det_train_report_metrics_json().
 * @param[in] report  Copied.
 * @retval DET_E_INVALID  `report` is NULL, a name is given twice, or `rank` or `time_us` is wrong.
 * @return Else as those two functions.
 * @since 0.1 */
DET_API det_status det_train_report(det_train_context *train, const det_report *report,
                                    det_error *err) DET_NOEXCEPT;

/** The number of a phase of the program, such as data, forward or backward. 0 is none. */
typedef int32_t det_region;

/** Gives a number to a phase of the program. Do it once, not in each step.
 *
 * Any rank and any thread may call it. From the first name on, each rank reports the time in its
 * phases. It does so every ten seconds and at the end, in the group "regions" (docs/regions.md).
 * `det trace` shows each phase.
 * @param[in]  name  UTF-8, 1 to 63 bytes, without '/' and control characters. At most 63 names. The
 *                   same name gives the same number. Not "detcore", which is the time in the
 *                   library.
 * @param[out] out   Receives the number; 0 on failure.
 * @retval DET_OK         `out` has the number.
 * @retval DET_E_INVALID  The name is wrong, or there are too many names.
 * @retval DET_E_STATE    The core is closed, or this is a forked child.
 * @since 0.1 */
DET_API det_status det_train_name_region(det_train_context *train, const char *name,
                                         det_region *out, det_error *err) DET_NOEXCEPT;

/** Begins a phase on the calling thread.
 *
 * It is inside the phases that this thread has begun and not ended. Their names form its path, as
 * in "step/forward". It takes about 15 ns. After the first of a thread it needs no allocation, lock
 * or system call.
 *
 * Above a limit, phases are left out, with one warning in the log. The limits are 32 phases inside
 * each other, 255 paths of a thread, and 64 threads at one time.
 * @retval DET_OK         The phase has begun, or was left out.
 * @retval DET_E_INVALID  There is no such number.
 * @retval DET_E_STATE    The core is closed, or this is a forked child.
 * @since 0.1 */
DET_API det_status det_train_begin_region(det_train_context *train, det_region region,
                                          det_error *err) DET_NOEXCEPT;

/** Ends a phase that the calling thread has begun. It also ends the phases inside it whose end was
 * skipped. It is as fast as det_train_begin_region().
 * @retval DET_E_STATE  Also if this thread has not begun the phase.
 * @return Else as det_train_begin_region().
 * @since 0.1 */
DET_API det_status det_train_end_region(det_train_context *train, det_region region,
                                        det_error *err) DET_NOEXCEPT;

/** Waits until the master has all earlier reports.
 *
 * With an embedded store they survive a power cut only with `durable_reports`. If the call fails,
 * undelivered reports stay in the journal.
 * @param[in] timeout_ms  The time limit; by default 60 seconds.
 * @retval DET_OK          The master has all earlier reports.
 * @retval DET_E_TIMEOUT   The time limit passed first.
 * @retval DET_E_FULL      The master's disk is full. Waiting does not help.
 * @retval DET_E_CORRUPT   The master's store is damaged. Waiting does not help.
 * @retval DET_E_IO        The master's store is gone or unreadable. Waiting does not help.
 * @retval DET_E_CONFLICT  A report repeated a metric of the same group and step with another value.
 *                         The first value was kept. Or a master over HTTP rejected reports for
 *                         good. The message has the first rejection, their number in this run, and
 *                         the file that keeps them. Each is returned once, by this call or by
 *                         det_core_close().
 * @retval DET_E_STATE     The core is closed.
 * @since 0.1 */
DET_API det_status det_train_flush(det_train_context *train, det_timeout timeout_ms,
                                   det_error *err) DET_NOEXCEPT;

/** Shows a short text beside the trial, such as "validating". It goes through the journal like a
 * report. Follows TrainContext.set_status().
 * @retval DET_OK         The text is in the journal.
 * @retval DET_E_INVALID  `status` is NULL.
 * @retval DET_E_FULL     The journal or the disk is full.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_train_set_status(det_train_context *train, const char *status,
                                        det_error *err) DET_NOEXCEPT;

/** Reports the progress of the trial as a fraction. It is for trials that use no searcher. It goes
 * through the journal like a report.
 * @param[in] progress  From 0 to 1.
 * @retval DET_OK         The progress is in the journal.
 * @retval DET_E_INVALID  `progress` is outside 0 to 1.
 * @retval DET_E_FULL     The journal or the disk is full.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_train_report_progress(det_train_context *train, double progress,
                                             det_error *err) DET_NOEXCEPT;

/** Appends a line to the trial's log, which `det logs` shows. It goes through the journal like a
 * report.
 * @param[in] level  One of DET_LOG_LEVEL_*.
 * @param[in] text   One or more lines, at most 64 KiB.
 * @retval DET_OK         The text is in the journal.
 * @retval DET_E_INVALID  An argument is wrong.
 * @retval DET_E_FULL     The journal or the disk is full.
 * @retval DET_E_STATE    The core is closed.
 * @since 0.1 */
DET_API det_status det_train_log(det_train_context *train, det_log_level level, const char *text,
                                 det_error *err) DET_NOEXCEPT;

/** The reason for which a trial ends early. Follows EarlyExitReason. */
typedef int32_t det_early_exit_reason;
/** These hyperparameters cannot be trained. Exit with status 0, as with DET_OUTCOME_INVALID_HP. */
#define DET_EARLY_EXIT_REASON_INVALID_HP 101
#define DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP 102 /**< Your code decided to stop. */

/** Tells the master why this trial ends early.
 *
 * It blocks until the master has all earlier reports and this one. Then they survive a power cut.
 * If you repeat the call, the first reason stays, and the log has a warning. Follows
 * TrainContext.report_early_exit().
 * @retval DET_OK             The master has the reason.
 * @retval DET_E_INVALID      The reason is unknown.
 * @retval DET_E_STATE        The core is closed.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @since 0.1 */
DET_API det_status det_train_report_early_exit(det_train_context *train,
                                               det_early_exit_reason reason,
                                               det_error *err) DET_NOEXCEPT;

/** Keeps a JSON object about this trial, and replaces the one before.
 *
 * Later runs of the trial find it, and det_client_get_trial() shows it. Call it on the chief only.
 * It blocks. The object survives a power cut. Follows TrainContext.set_metadata().
 * @param[in] metadata_json  A JSON object. "{}" keeps nothing. A master over HTTP takes at most
 *                           1000 values, 10 levels, names of 50 characters without `$ . [ ]`, lists
 *                           of 100 entries, texts of 5000 characters.
 * @retval DET_OK             The object is kept.
 * @retval DET_E_INVALID      The object is wrong.
 * @retval DET_E_UNSUPPORTED  The master over HTTP is older than version 0.34.
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_STATE        The core is closed.
 * @since 0.1 */
DET_API det_status det_train_set_metadata(det_train_context *train, const char *metadata_json,
                                          det_error *err) DET_NOEXCEPT;

/** Gets the object that det_train_set_metadata() kept last, in this run or an earlier one. It
 * blocks. Follows TrainContext.get_metadata().
 * @param[out] out_json  Receives a JSON object, "{}" without one. Release it with det_free(). NULL
 *                       on failure.
 * @return As det_train_set_metadata().
 * @since 0.1 */
DET_API det_status det_train_get_metadata(det_train_context *train, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** Gets the best validation of the whole experiment so far, by the configured searcher metric.
 *
 * It blocks until the master has all earlier reports. Follows
 * TrainContext.get_experiment_best_validation().
 * @param[out] out  Receives the value. Unchanged on failure.
 * @retval DET_OK             `out` has the value.
 * @retval DET_E_NOT_FOUND    There is no such validation yet, or no searcher metric is configured.
 * @retval DET_E_TIMEOUT      See det_train_flush().
 * @retval DET_E_FULL         See det_train_flush().
 * @retval DET_E_CORRUPT      See det_train_flush().
 * @retval DET_E_IO           See det_train_flush().
 * @retval DET_E_UNAVAILABLE  The master does not answer. Call again.
 * @retval DET_E_STATE        The core is closed.
 * @since 0.1 */
DET_API det_status det_train_get_experiment_best_validation(det_train_context *train, double *out,
                                                            det_error *err) DET_NOEXCEPT;

/** Sets how TensorBoard files are kept. Follows TensorboardMode. */
typedef int32_t det_tensorboard_mode;
#define DET_TENSORBOARD_MODE_AUTO                                 \
  0 /**< The chief's reports become event files, kept in storage. \
     */
#define DET_TENSORBOARD_MODE_MANUAL 1 /**< Only your own calls write or keep files. */

/** Gets the directory for TensorBoard files of this rank. It makes a missing directory. Follows
 * TrainContext.get_tensorboard_path().
 * @param[out] out  Receives a path. Release it with det_free(). NULL on failure.
 * @retval DET_OK       `out` has the path.
 * @retval DET_E_IO     The directory cannot be made.
 * @retval DET_E_STATE  The core is closed.
 * @since 0.1 */
DET_API det_status det_train_get_tensorboard_path(det_train_context *train, char **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Chooses a file for upload: 1 takes it, 0 skips it, negative stops with DET_E_CALLBACK. `path` is
 * absolute, and valid during the call. */
typedef int32_t (*det_tensorboard_selector)(const char *path, void *user_data);

/** Gives a file its name in storage. `path` is relative to the TensorBoard directory. It writes a
 * relative path with its NUL into `out`, which has `size` bytes. It returns 0, or negative to stop
 * with DET_E_CALLBACK. */
typedef int32_t (*det_tensorboard_mangler)(const char *path, int32_t rank, char *out, size_t size,
                                           void *user_data);

/** Adds "#" and the rank to the name of a profiler's trace. Otherwise that name is the same on
 * every rank. Other names stay.
 *
 * It is a det_tensorboard_mangler. Any thread may call it.
 * @param[in]  path       Relative to the TensorBoard directory.
 * @param[in]  rank       Of the process, from 0.
 * @param[out] out        Receives the name with its NUL. Unchanged on failure.
 * @param[in]  size       Bytes of `out`.
 * @param[in]  user_data  Ignored.
 * @return 0; -1 if an argument is NULL or `size` is too small.
 * @since 0.1 */
DET_API int32_t det_tensorboard_rank_aware_name(const char *path, int32_t rank, char *out,
                                                size_t size, void *user_data) DET_NOEXCEPT;

/** Copies TensorBoard files that changed since the last call to storage.
 *
 * In DET_TENSORBOARD_MODE_MANUAL any rank may call it. In DET_TENSORBOARD_MODE_AUTO all ranks
 * except the chief may, because the library keeps the chief's files. It blocks. Follows
 * TrainContext.upload_tensorboard_files().
 * @param[in] selector   NULL takes every file.
 * @param[in] mangler    NULL keeps names. A result that is absolute or has ".." is rejected.
 * @param[in] user_data  Passed to both callbacks.
 * @retval DET_OK          The files are in storage.
 * @retval DET_E_STATE     This rank is the chief in the mode AUTO, or the core is closed.
 * @retval DET_E_INVALID   The mangler gave a wrong name.
 * @retval DET_E_CALLBACK  A callback stopped the call.
 * @retval DET_E_IO        Reading or writing failed.
 * @retval DET_E_FULL      The disk or a quota is full.
 * @since 0.1 */
DET_API det_status det_train_upload_tensorboard_files(det_train_context *train,
                                                      det_tensorboard_selector selector,
                                                      det_tensorboard_mangler mangler,
                                                      void *user_data, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
