/**
 * @file
 * @brief Starts and ends one training process. Includes every other header of libdetcore.
 */
#ifndef DET_CORE_H
#define DET_CORE_H

#include <det/checkpoint.h>
#include <det/client.h>
#include <det/config.h>
#include <det/distributed.h>
#include <det/error.h>
#include <det/info.h>
#include <det/log.h>
#include <det/preempt.h>
#include <det/profiler.h>
#include <det/searcher.h>
#include <det/storage.h>
#include <det/tensorboard.h>
#include <det/tensors.h>
#include <det/train.h>
#include <det/trial_cache.h>
#include <det/trial_gradients.h>

DET_BEGIN_DECLS

/** One training process. Owned by the caller. Several may live in one process of the system.
 * Follows core.Context. */
typedef struct det_core det_core;

/** Options of det_core_init(). NULL or 0 in a member means the default named here.
 *
 * In a job of several ranks the chief's values count for `master`, `trial_id`, `external_id`,
 * `external_experiment_id`, `name`, `config_json`, `hparams_json` and `checkpoint_storage`. The
 * chief's variables count for their defaults, too. The values of other ranks are ignored, with one
 * exception: credentials in `checkpoint_storage` do not travel between ranks. Give all ranks the
 * same object, or set the credentials in the environment of each.
 *
 * `preempt_mode` must be the same on all ranks. Each rank sets the rest for itself. */
typedef struct det_core_options {
  size_t struct_size; /**< sizeof(det_core_options). */

  /** The master: an http(s) URL, or the directory (or file: URL) of an embedded store. NULL: the
   * first of these that exists:
   * - the master whose cluster started this process as a trial (the files in DET_INFO_DIR, else
   *   /run/determined/info, else the variables DET_*)
   * - the variable DET_MASTER
   * - the variable DET_HOME
   * - the user data directory ($XDG_DATA_HOME/determined or ~/.local/share/determined) */
  const char *master;
  /** The trial to continue. 0: the variable DET_TRIAL_ID, else `external_id`, else a new trial. */
  int64_t trial_id;
  /** Your own name for the trial. The next start with the same name continues the trial. NULL: no
   * name.
   *
   * It is ignored if `trial_id` or DET_TRIAL_ID names the trial, as in a trial that `det run`
   * started. The variable DET_EXTERNAL_ID overrides it, with a warning. A continued trial keeps its
   * first values. If you give others now, the log names them. */
  const char *external_id;
  /** On a master over HTTP, your own name for the experiment of the trial that `external_id` names.
   * The variable DET_EXTERNAL_EXPERIMENT_ID overrides it. NULL: as `external_id`. */
  const char *external_experiment_id;
  /** The name of a new experiment. NULL: `name` of the configuration, else the program's name. */
  const char *name;
  /** The configuration of a new experiment, as a JSON object. NULL: none. The variable
   * DET_EXPERIMENT_CONFIG overrides it value by value, with a warning.
   *
   * With an embedded store it is checked as `det config check` does, but any part may be missing.
   * `searcher.max_length` is the length of the one operation of a single search. Without it that
   * length is 1. */
  const char *config_json;
  /** The hyperparameters of a new trial, as a JSON object. NULL: the constants under
   * `hyperparameters` of the configuration. The variable DET_HPARAMS overrides them value by value.
   */
  const char *hparams_json;
  /** The storage of checkpoints: a directory, file: URL, s3://bucket[/prefix], gs://bucket[/prefix]
   * or azure://container[/prefix]. Or a JSON object like `checkpoint_storage` of the configuration
   * (not of type shared_fs). NULL: the configuration's, else the directory of the embedded store.
   */
  const char *checkpoint_storage;
  /** The ranks of this job. Borrowed: it must outlive the core. NULL: one process. */
  det_distributed_context *distributed;

  /** Signals that ask this process to stop, such as SIGTERM. NULL: no handler is installed. Copied.
   *
   * Each gets a handler until det_core_close(), which calls the handler before it. After such a
   * signal, more of its kind do nothing until 10 seconds after that close. In a forked child only
   * the handler before it counts.
   *
   * The earlier handler may be a runtime's own and end the process, as in Java and Go. Then catch
   * the signal there, and call det_preempt_request() instead. */
  const int32_t *preempt_signals;
  size_t preempt_signal_count; /**< Entries of `preempt_signals`; at most 8. */

  int64_t journal_limit; /**< The greatest size of the journal in bytes; 0 = 1 GiB. */
  /** The time that a report may wait for room when the journal is full. By default it is 10
   * seconds. If the master does not answer, a report never waits. */
  det_timeout journal_wait_ms;
  /** The time that det_core_close() waits for the master to take the last reports. It also limits
   * the wait for a storage to delete checkpoints that are not kept. By default it is 60 seconds. If
   * a storage hangs, the next start of the trial deletes the rest. */
  det_timeout close_wait_ms;

  /** Receives log lines. NULL: they go to standard error. On a terminal there is then a line at the
   * start and one at the end. The first names the trial and its store, and how to look at it. The
   * last shows how to continue it. */
  det_log_callback log;
  void *log_user_data; /**< For `log`. */
  /** Called once with `log_user_data`, on any thread, after the last call of `log`. NULL: nothing
   * to release.
   *
   * This is at the latest in det_core_free(), or when a late call of `log` returns for which that
   * did not wait. It is also called when det_core_init() fails. Exception: options that cannot be
   * read, with a wrong size or with members that this release does not know. */
  void (*log_destroy)(void *log_user_data);
  /** Takes the lines, in place of `log`. You may free it before the core. NULL: none. */
  det_log_queue *log_queue;

  det_preempt_mode preempt_mode;         /**< One of DET_PREEMPT_MODE_*. */
  det_tensorboard_mode tensorboard_mode; /**< One of DET_TENSORBOARD_MODE_*. */
  /** A signal, such as SIGUSR1. It prints the stack of the interrupted thread to standard error. 0:
   * none. */
  int32_t stack_trace_signal;
  /** 1: a process that ends without det_core_close() closes the core first.
   * - With DET_OUTCOME_OK after exit(0), and after main() returns 0.
   * - With DET_OUTCOME_ERROR after another exit status, an uncaught exception, or a signal that
   *   nothing else handles. The signals are SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT,
   *   SIGBUS, SIGFPE, SIGSEGV and SIGTERM.
   *
   * Their handlers delay the end of the process for at most 5 seconds, and do not change its
   * status. After a signal from outside, the program continues in that time. A second signal ends
   * it at once. */
  int32_t close_at_end;
  /** 1: the output of this process and its children also goes to the trial's log, line by line.
   * This covers standard output and standard error, also by file descriptor, until
   * det_core_close(). Output from the moment before a kill may be lost in parts.
   *
   * It does nothing in a trial whose cluster collects its output itself, through its set-up in the
   * container. Only one core of a process may have it at a time. */
  int32_t capture_output;
  /** 1: a report that returned DET_OK also survives a power cut, not only the end of the process.
   * Each report waits some milliseconds for the disk of the journal. An embedded store waits for
   * its disk too. 0: a power cut may lose the last moments. */
  int32_t durable_reports;
  det_log_level log_level; /**< Lines below it are dropped; by default DET_LOG_LEVEL_WARNING. */
  int32_t reserved;        /**< 0. */
  /** The time that det_core_init() waits for the previous run while one of its processes lives. For
   * example, the ranks of a job outlive a killed mpirun by some seconds. By default it does not
   * wait, and returns DET_E_STATE with `retryable` 1. Only with an embedded store. */
  det_timeout run_wait_ms;
} det_core_options;

/** Initialiser with the defaults. */
#define DET_CORE_OPTIONS_INIT                                                                      \
  {                                                                                                \
    sizeof(det_core_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, \
        NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0                                          \
  }

/** Starts the run of a trial.
 *
 * Without a cluster and a configured master it opens or makes the embedded store. It makes a new
 * experiment with one trial, or the next run of the trial that you name. It recovers reports and
 * checkpoints that a killed process left behind. It rejects wrong or impossible options before it
 * records anything.
 *
 * It blocks. With an embedded store this takes at most a few milliseconds. With a master over HTTP
 * it takes as long as a few requests.
 *
 * The program works in one of three ways:
 * - In a trial that a master's cluster started, the master gets reports of all events and may ask
 *   the trial to stop. The exit status of the process counts.
 * - In any other process, if `master` or DET_MASTER is a URL, the trial is on its own. It is made
 *   on that master, or found by its name, and only reports. The chief's library sends a heartbeat.
 *   Without it the master takes the trial for dead.
 * - Otherwise the program works with an embedded store.
 *
 * With `distributed` all ranks call it in step. They are one run of one trial. The chief is rank 0.
 * It finds the master and starts the run, and the other ranks get the place from it. If it fails on
 * one rank, it fails on all, and the message names the rank. A run that was started ends as an
 * error.
 *
 * A rank on another machine cannot reach the chief's store without a shared file system. It takes
 * part in collectives, checkpoints, the search and DET_PREEMPT_MODE_WORKERS_ASK_CHIEF. Calls that
 * need the store, such as reports, return DET_E_UNSUPPORTED there. The message names the remedy.
 * Follows core.init(), and the start of its `with` block.
 * @param[in]  options  NULL for the defaults. Copied, except `distributed`.
 * @param[out] out      Receives the core. Release it with det_core_free(). NULL on failure.
 * @retval DET_OK             `out` has the core.
 * @retval DET_E_INVALID      An option or variable is wrong. The message names it.
 * @retval DET_E_NOT_FOUND    There is no such trial.
 * @retval DET_E_STATE        Another process runs the trial. `retryable` is 1. See `run_wait_ms`.
 * @retval DET_E_IO           The store, or the files of a cluster: reading or writing failed.
 * @retval DET_E_ACCESS       The same: permission is missing. Or the master wants another login, or
 *                            does not prove its identity.
 * @retval DET_E_FULL         The disk of the store is full.
 * @retval DET_E_BUSY         Another process holds the store. Call again.
 * @retval DET_E_CORRUPT      The store, or the files of a cluster, are damaged.
 * @retval DET_E_UNSUPPORTED  The store is of a newer release. Or the master is too old for trials
 *                            on their own. Or the mode is DET_PREEMPT_MODE_WORKERS_ASK_MASTER, and
 *                            a rank cannot reach the store.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_TIMEOUT      The master does not answer in time.
 * @return Also any failure of the communication between ranks.
 * @since 0.1 */
DET_API det_status det_core_init(const det_core_options *options, det_core **out,
                                 det_error *err) DET_NOEXCEPT;

/** Starts the run of a trial, with the options as text. It is for bindings that should not lay out
 * a struct. Everything else is as for det_core_init().
 *
 * Names and values of `options_json`:
 * - The members of det_core_options by their names.
 * - `config_json`, `hparams_json` and `checkpoint_storage` may be objects or text.
 * - `preempt_signals` is a list of numbers or names ("SIGTERM").
 * - Modes and `log_level` are the last parts of their constants ("CHIEF_ONLY", "DEBUG").
 * - Members that are 0 or 1 may be false or true.
 * - Not allowed: `struct_size`, `distributed`, `log`, `log_user_data`, `log_destroy`, `log_queue`,
 *   `preempt_signal_count` and `reserved`.
 * @param[in]  options_json  A JSON object. NULL or "{}" for the defaults.
 * @param[in]  distributed   As `distributed` of the options, or NULL.
 * @param[in]  log_queue     As `log_queue` of the options, or NULL.
 * @param[out] out           As for det_core_init().
 * @retval DET_E_INVALID  Also for an unknown name. The message lists the known names.
 * @return Else as det_core_init().
 * @since 0.1 */
DET_API det_status det_core_init_json(const char *options_json,
                                      det_distributed_context *distributed,
                                      det_log_queue *log_queue, det_core **out,
                                      det_error *err) DET_NOEXCEPT;

/** Says how a run ends. */
typedef int32_t det_outcome;
#define DET_OUTCOME_OK 0    /**< In good order: completed, or preempted and acknowledged. */
#define DET_OUTCOME_ERROR 1 /**< Training failed. */
/** Training is not possible with these hyperparameters. The process then exits with status 0. After
 * the status of a failure a master over HTTP would start it again. */
#define DET_OUTCOME_INVALID_HP 2

/** Ends the run.
 *
 * It waits for asynchronous saves, delivers every report to the master, and reports how the run
 * ended. It does every step even if one fails, and returns the first failure. It keeps undelivered
 * reports in the journal for `det sync`.
 *
 * Afterwards every function of the core and its views returns DET_E_STATE. The memory stays until
 * det_core_free(). A second call only repeats steps for which there was no memory. In a forked
 * child it does nothing. After a power cut soon afterwards the run may look killed. The next start
 * corrects that.
 *
 * It blocks. The wait for asynchronous saves has no limit, with one exception. After a signal,
 * `close_at_end` leaves them to the next start.
 *
 * Each rank closes for itself, in any order. No rank waits for another. Reports of a rank that
 * closes after the chief still arrive. The chief's outcome counts, unless it is DET_OUTCOME_OK.
 * Then a rank that closed with another outcome decides how the run ends. So does a rank that is
 * gone from the chief's machine without closing. Follows the end of the `with` block of
 * core.init().
 * @param[in] how  One of DET_OUTCOME_*.
 * @retval DET_OK             The run has ended, and the master has all reports.
 * @retval DET_E_INVALID      `how` is not a known outcome.
 * @retval DET_E_CONFLICT     See det_train_flush().
 * @retval DET_E_TIMEOUT      The time limit passed first.
 * @retval DET_E_UNAVAILABLE  The master does not answer.
 * @retval DET_E_BUSY         Another process holds the store.
 * @retval DET_E_IO           Reading or writing failed.
 * @retval DET_E_FULL         The disk of the store or the journal is full.
 * @retval DET_E_NOMEM        Out of memory. Call again.
 * @return Also the failure of an asynchronous save that no call has returned yet.
 * @since 0.1 */
DET_API det_status det_core_close(det_core *core, det_outcome how, det_error *err) DET_NOEXCEPT;

/** The exit status of a run that was asked to stop before its end. The next start continues it. It
 * is EX_TEMPFAIL of sysexits.h. You can configure schedulers to take it for "start me again".
 * @since 0.1 */
#define DET_EXIT_PREEMPTED 75

/** Returns the exit status with which the process should leave.
 *
 * It tells the scheduler or parent process if the training is done. Call it before det_core_free(),
 * from any thread, before or after det_core_close(). It does not block. The status is one of:
 * - 0: there is no more to do.
 * - DET_EXIT_PREEMPTED: should_preempt returned DET_PREEMPTED, or the signal was acknowledged. The
 *   last operation of the searcher is not complete.
 * - 1: the core was closed with DET_OUTCOME_ERROR.
 * @return The status; 0 for NULL.
 * @since 0.1 */
DET_API int32_t det_core_exit_status(det_core *core) DET_NOEXCEPT;

/** Releases the core, its views and operations. If the core is not closed, it closes it first with
 * DET_OUTCOME_ERROR. NULL does nothing.
 * @since 0.1 */
DET_API void det_core_free(det_core *core) DET_NOEXCEPT;

/** Returns the facts about this run. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_info *det_core_info(det_core *core) DET_NOEXCEPT;
/** Returns the ranks of this job. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_distributed_context *det_core_distributed(det_core *core) DET_NOEXCEPT;
/** Returns the view of the checkpoints. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_checkpoint_context *det_core_checkpoint(det_core *core) DET_NOEXCEPT;
/** Returns the view of the preemption signal. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_preempt_context *det_core_preempt(det_core *core) DET_NOEXCEPT;
/** Returns the view of the reports. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_train_context *det_core_train(det_core *core) DET_NOEXCEPT;
/** Returns the view of the search. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_searcher_context *det_core_searcher(det_core *core) DET_NOEXCEPT;
/** Returns the view of the profiler. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_profiler_context *det_core_profiler(det_core *core) DET_NOEXCEPT;
/** Returns the view for TensorBoard. Borrowed; NULL for NULL.
 * @since 0.1 */
DET_API det_tensorboard_context *det_core_tensorboard(det_core *core) DET_NOEXCEPT;

DET_END_DECLS

/* Here, because it takes a core. */
#include <det/trial.h>

#endif
