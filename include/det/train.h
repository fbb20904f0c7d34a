/**
 * @file
 * @brief Reporting metrics, status and progress (seed: TrainContext).
 *
 * A `det_train_context` is a view borrowed from `det_core`, valid until det_core_free().
 *
 * A report that returned DET_OK is safe: it lies in a memory-mapped journal that outlives a kill
 * of this process, and a background thread carries it to the master in order. No report waits for
 * disk or network; the last moments before a power cut may be lost. With `durable_reports` of
 * det_core_options, what goes through the journal waits for the disk, and survives a power cut;
 * where that fails it is DET_E_IO, not retryable: the report was recorded all the same.
 *
 * A run that goes on from a checkpoint reports once more what a killed one had reported behind it:
 * in an embedded store the same values of a group and step count once.
 *
 * Convention: only the chief reports. Any rank may, to the same trial: in a group of its own, since
 * two ranks that give one metric of one group and step different values contradict each other. A
 * rank that cannot reach the master of its chief gets DET_E_UNSUPPORTED (see det_core_init()).
 */
#ifndef DET_TRAIN_H
#define DET_TRAIN_H

#include <det/error.h>

DET_BEGIN_DECLS

/** View of the reports; borrowed from det_core_train(). */
typedef struct det_train_context det_train_context;

/** One value of a report. */
typedef struct det_metric {
  const char *name; /**< UTF-8, 1 to 255 bytes. Copied. */
  double value;     /**< Any double; NaN and infinities are kept. */
} det_metric;

/** A report with everything that can be said of one. What is NULL or 0 takes the default named
 * here. */
typedef struct det_report {
  size_t struct_size;        /**< sizeof(det_report). */
  const char *group;         /**< As for det_train_report_metrics(). NULL: "training". */
  int64_t steps_completed;   /**< As for det_train_report_training_metrics(). */
  const det_metric *metrics; /**< `count` values; may be NULL when `count` is 0. */
  size_t count;              /**< Entries of `metrics`. */
  /** More metrics, of any JSON type, as for det_train_report_metrics_json(); their names and those
   * of `metrics` differ. NULL: none. */
  const char *metrics_json;
  const char *batch_metrics_json; /**< As for det_train_report_metrics_json(). NULL: none. */
  /** When it was measured, in microseconds since 1970 (UTC). 0: now. */
  int64_t time_us;
  /** Whose measurement it is, where the chief reports for another rank: at most 65,535. 0: of the
   * rank that reports. A master over HTTP does not keep it. */
  int32_t rank;
  int32_t reserved; /**< 0. */
} det_report;

/** Initialiser with the defaults. */
#define DET_REPORT_INIT \
  { sizeof(det_report), NULL, 0, NULL, 0, NULL, NULL, 0, 0, 0 }

/** Reports training metrics (seed: report_training_metrics). No allocation, lock or system call:
 * on two cores, 4 values take 90 to 200 ns (median), and 100 to 180 ns on average in a loop that
 * does nothing else, by tests/bench/bench_report.cc. A busy machine takes longer.
 * @param[in] steps_completed  Steps since the beginning of the trial, not of this run; >= 0 and
 *                             not below an earlier report of this group in this run.
 * @param[in] metrics          `count` values; may be NULL when count is 0. Names differ.
 * @return DET_OK; DET_E_INVALID (steps, names); DET_E_FULL (the journal has reached its limit
 * because the master does not keep up, or the disk is full: nothing was recorded); DET_E_STATE
 * (closed, or a forked child).   @since 0.1 */
DET_API det_status det_train_report_training_metrics(det_train_context *train,
                                                     int64_t steps_completed,
                                                     const det_metric *metrics, size_t count,
                                                     det_error *err) DET_NOEXCEPT;

/** Reports validation metrics (seed: report_validation_metrics); as
 * det_train_report_training_metrics(). Independent of det_searcher_op_report_completed().
 * @since 0.1 */
DET_API det_status det_train_report_validation_metrics(det_train_context *train,
                                                       int64_t steps_completed,
                                                       const det_metric *metrics, size_t count,
                                                       det_error *err) DET_NOEXCEPT;

/** Reports metrics of a named group (seed: report_metrics); as
 * det_train_report_training_metrics(), but steps of groups other than "training" and "validation"
 * may go back.
 * @param[in] group  UTF-8, 1 to 255 bytes, no '.'; "training" and "validation" are the built-in
 * ones.
 * @since 0.1 */
DET_API det_status det_train_report_metrics(det_train_context *train, const char *group,
                                            int64_t steps_completed, const det_metric *metrics,
                                            size_t count, det_error *err) DET_NOEXCEPT;

/** Reports metrics of any JSON type, with optional metrics per batch (seed: the batch_metrics of
 * report_training_metrics). Slower than the others: it parses.
 * @param[in] metrics_json        A JSON object; bare NaN and Infinity are understood. In group
 *                                "validation" no value may be null.
 * @param[in] batch_metrics_json  A JSON array of objects, or NULL. They are kept, can be read
 *                                back, and are plotted in TensorBoard.
 * @return As det_train_report_metrics().   @since 0.1 */
DET_API det_status det_train_report_metrics_json(det_train_context *train, const char *group,
                                                 int64_t steps_completed, const char *metrics_json,
                                                 const char *batch_metrics_json,
                                                 det_error *err) DET_NOEXCEPT;

/** Reports what the others do, and when and on which rank it was measured. As fast as they are: as
 * det_train_report_training_metrics() without JSON, as det_train_report_metrics_json() with it.
 * @param[in] report  Copied.
 * @return As those two; DET_E_INVALID (NULL, a name twice, `rank`, `time_us`).   @since 0.1 */
DET_API det_status det_train_report(det_train_context *train, const det_report *report,
                                    det_error *err) DET_NOEXCEPT;

/** A phase of the program by its number: data, forward, backward. 0 is none. */
typedef int32_t det_region;

/** Gives a phase of the program a number, to begin and end it by: once, not in each step. From the
 * first name on each rank reports every ten seconds, and at the end, where its time went, in the
 * group "regions" (docs/regions.md); `det trace` shows each of them. Any rank, any thread.
 * @param[in]  name  UTF-8, 1 to 63 bytes, without '/' and control characters; not "detcore", which
 *                   is what the library itself takes. The same name gives the same number; at most
 *                   63 names.
 * @param[out] out   Receives the number; 0 on failure.
 * @return DET_OK; DET_E_INVALID (the name, one too many); DET_E_STATE (closed, or a forked child).
 * @since 0.1 */
DET_API det_status det_train_name_region(det_train_context *train, const char *name,
                                         det_region *out, det_error *err) DET_NOEXCEPT;

/** Begins a phase on the calling thread, within those that it has begun and not ended: their names
 * make its path, as in "step/forward". Takes about 15 ns: no allocation, lock or system call after
 * the first of a thread. Beyond 32 within each other, 255 paths of a thread or 64 threads at one
 * time phases are left out, with one warning in the log.
 * @return DET_OK; DET_E_INVALID (no such number); DET_E_STATE (closed, or a forked child).
 * @since 0.1 */
DET_API det_status det_train_begin_region(det_train_context *train, det_region region,
                                          det_error *err) DET_NOEXCEPT;

/** Ends a phase that the calling thread has begun, and those within it whose end was jumped over.
 * As quick.
 * @return As det_train_begin_region(); DET_E_STATE also where this thread has not begun it.
 * @since 0.1 */
DET_API det_status det_train_end_region(det_train_context *train, det_region region,
                                        det_error *err) DET_NOEXCEPT;

/** Waits until every report made before is with the master.
 * @param[in] timeout_ms  How long; by default 60 seconds.
 * @return DET_OK (an embedded store keeps them from a power cut with `durable_reports` only);
 * DET_E_TIMEOUT (they stay in the journal); DET_E_FULL, DET_E_CORRUPT, DET_E_IO
 * (the master's disk is full, or its store damaged or gone, which no waiting mends; they stay in
 * the journal); DET_E_CONFLICT (a report repeated a metric of the same group and step with another
 * value: the first value was kept; or a master over HTTP refused reports for good: the message has
 * the first refusal, how many there are of this run and the file that keeps them; each is told by
 * one flush, or by det_core_close()); DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_flush(det_train_context *train, det_timeout timeout_ms,
                                   det_error *err) DET_NOEXCEPT;

/** Shows a short text beside the trial, such as "validating" (seed: set_status). Goes through the
 * journal like a report.
 * @return DET_OK; DET_E_INVALID (NULL); DET_E_FULL; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_set_status(det_train_context *train, const char *status,
                                        det_error *err) DET_NOEXCEPT;

/** Reports the progress of the trial as a fraction, for trials that use no searcher. Goes through
 * the journal like a report.
 * @param[in] progress  From 0 to 1.
 * @return DET_OK; DET_E_INVALID (outside); DET_E_FULL; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_report_progress(det_train_context *train, double progress,
                                             det_error *err) DET_NOEXCEPT;

/** Appends a line to the trial's log, shown by `det logs`. Goes through the journal like a report.
 * @param[in] level  One of DET_LOG_LEVEL_*.
 * @param[in] text   One or more lines, at most 64 KiB.
 * @return DET_OK; DET_E_INVALID; DET_E_FULL; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_log(det_train_context *train, det_log_level level, const char *text,
                                 det_error *err) DET_NOEXCEPT;

/** Why a trial ends before its time (seed: EarlyExitReason). */
typedef int32_t det_early_exit_reason;
/** These hyperparameters cannot be trained; as with DET_OUTCOME_INVALID_HP, exit with status 0. */
#define DET_EARLY_EXIT_REASON_INVALID_HP 101
#define DET_EARLY_EXIT_REASON_USER_REQUESTED_STOP 102 /**< The user's code decided to stop. */

/** Tells the master why this trial ends early (seed: report_early_exit). Blocks until the reports
 * before it are with the master, and it is: it survives a power cut, as those before it then do. A
 * repeat is a warning in the log.
 * @return DET_OK; DET_E_INVALID (reason); DET_E_STATE (closed); DET_E_UNAVAILABLE, DET_E_BUSY.
 * @since 0.1 */
DET_API det_status det_train_report_early_exit(det_train_context *train,
                                               det_early_exit_reason reason,
                                               det_error *err) DET_NOEXCEPT;

/** Keeps what the caller wants to know about this trial later (seed: set_metadata), in place of
 * what was kept before. Its next runs find it, and det_client_get_trial() shows it. Chief.
 * Blocks; survives a power cut.
 * @param[in] metadata_json  A JSON object; "{}" keeps nothing. A master over HTTP takes at most
 * 1000 values, 10 levels, names of 50 characters without `$ . [ ]`, lists of 100 and texts of 5000
 * characters.
 * @return DET_OK; DET_E_INVALID; DET_E_UNSUPPORTED (a master over HTTP before version 0.34);
 * DET_E_UNAVAILABLE, DET_E_BUSY; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_set_metadata(det_train_context *train, const char *metadata_json,
                                          det_error *err) DET_NOEXCEPT;

/** What det_train_set_metadata() kept last, in this run or an earlier one (seed: get_metadata).
 * Blocks.
 * @param[out] out_json  Receives a JSON object, "{}" for none, to release with det_free(); NULL on
 *                       failure.
 * @return As det_train_set_metadata().   @since 0.1 */
DET_API det_status det_train_get_metadata(det_train_context *train, char **out_json,
                                          det_error *err) DET_NOEXCEPT;

/** The best validation so far in the whole experiment, by the configured searcher metric
 * (seed: get_experiment_best_validation). Blocks until the reports before it are with the master.
 * @param[out] out  Receives the value; untouched on failure.
 * @return DET_OK; DET_E_NOT_FOUND (no such validation yet, or no searcher metric configured);
 * DET_E_TIMEOUT, DET_E_FULL, DET_E_CORRUPT, DET_E_IO (see det_train_flush()); DET_E_UNAVAILABLE;
 * DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_get_experiment_best_validation(det_train_context *train, double *out,
                                                            det_error *err) DET_NOEXCEPT;

/** How TensorBoard files are kept (seed: TensorboardMode). */
typedef int32_t det_tensorboard_mode;
#define DET_TENSORBOARD_MODE_AUTO                                 \
  0 /**< The chief's reports become event files, kept in storage. \
     */
#define DET_TENSORBOARD_MODE_MANUAL 1 /**< Nothing is written or kept unless the caller does. */

/** The directory for TensorBoard files of this rank (seed: get_tensorboard_path). Made if absent.
 * @param[out] out  Receives a path to release with det_free(); NULL on failure.
 * @return DET_OK; DET_E_IO; DET_E_STATE (closed).   @since 0.1 */
DET_API det_status det_train_get_tensorboard_path(det_train_context *train, char **out,
                                                  det_error *err) DET_NOEXCEPT;

/** Chooses a file for upload: 1 takes it, 0 leaves it, negative stops with DET_E_CALLBACK. `path`
 * is absolute and lives during the call. */
typedef int32_t (*det_tensorboard_selector)(const char *path, void *user_data);

/** Gives a file the name it has in storage. `path` is relative to the TensorBoard directory. Writes
 * a relative path with its NUL into `out` (`size` bytes). Returns 0, or negative to stop with
 * DET_E_CALLBACK. */
typedef int32_t (*det_tensorboard_mangler)(const char *path, int32_t rank, char *out, size_t size,
                                           void *user_data);

/** A mangler: puts "#" and the rank into the name of a profiler's trace, which is the same on every
 * rank; other names stay. Any thread.
 * @param[in]  path       Relative to the TensorBoard directory.
 * @param[in]  rank       Of the process, from 0.
 * @param[out] out        Receives the name with its NUL; untouched on failure.
 * @param[in]  size       Bytes of `out`.
 * @param[in]  user_data  Ignored.
 * @return 0; -1 (an argument is NULL, or `size` is too small).   @since 0.1 */
DET_API int32_t det_tensorboard_rank_aware_name(const char *path, int32_t rank, char *out,
                                                size_t size, void *user_data) DET_NOEXCEPT;

/** Copies TensorBoard files changed since the last call to storage (seed:
 * upload_tensorboard_files). In DET_TENSORBOARD_MODE_MANUAL any rank; in DET_TENSORBOARD_MODE_AUTO
 * those whose files are not kept by themselves: all but the chief. Blocks.
 * @param[in] selector  NULL takes every file.
 * @param[in] mangler   NULL keeps names. A result that is absolute or has ".." is refused.
 * @return DET_OK; DET_E_STATE (the chief in AUTO mode, closed); DET_E_INVALID (mangled name);
 * DET_E_CALLBACK; DET_E_IO, DET_E_FULL.   @since 0.1 */
DET_API det_status det_train_upload_tensorboard_files(det_train_context *train,
                                                      det_tensorboard_selector selector,
                                                      det_tensorboard_mangler mangler,
                                                      void *user_data, det_error *err) DET_NOEXCEPT;

DET_END_DECLS

#endif
