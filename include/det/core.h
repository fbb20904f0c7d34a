/**
 * @file
 * @brief One training process from start to end (seed: core.init and core.Context). Includes every
 * other header.
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

/** One training process. Owned by the caller; several may live in one process. */
typedef struct det_core det_core;

/** Options of det_core_init(). What is NULL or 0 takes the default named here. In a job of several
 * ranks the chief's count for `master`, `trial_id`, `external_id`, `external_experiment_id`,
 * `name`, `config_json`, `hparams_json` and `checkpoint_storage`, as do the variables they default
 * to: those of other ranks are not looked at, but for credentials in `checkpoint_storage`, which do
 * not travel: give all ranks the same object, or let each have them in its environment.
 * `preempt_mode` must be the same on all ranks. The rest is each rank's own. */
typedef struct det_core_options {
  size_t struct_size; /**< sizeof(det_core_options). */

  /** Which master: an http(s) URL, or the directory (or file: URL) of an embedded store. NULL: the
   * master whose cluster started this process as a trial (the files in DET_INFO_DIR, else
   * /run/determined/info, else the variables DET_*), else the variable DET_MASTER, else DET_HOME,
   * else the user data directory ($XDG_DATA_HOME/determined or ~/.local/share/determined). */
  const char *master;
  /** The trial to continue. 0: the variable DET_TRIAL_ID, else `external_id`, else a new one. */
  int64_t trial_id;
  /** A name of the caller's own for the trial: the next start with the same one continues it. Not
   * looked at where `trial_id` or DET_TRIAL_ID says which trial it is, as in one that `det run`
   * started. The variable DET_EXTERNAL_ID goes before it, with a warning. NULL: none. A trial that
   * is continued keeps the values that it began with: the log names those given now that differ. */
  const char *external_id;
  /** On a master over HTTP, the same for the experiment that the trial named by `external_id` is
   * in. The variable DET_EXTERNAL_EXPERIMENT_ID goes before it. NULL: as `external_id`. */
  const char *external_experiment_id;
  /** Name of the experiment when a new one is made. NULL: `name` of the configuration, else the
   * program's name. */
  const char *name;
  /** Experiment configuration as a JSON object, used when a new experiment is made. What the
   * variable DET_EXPERIMENT_CONFIG has goes before it, value by value, with a warning. NULL: none.
   * With an embedded store it is checked as `det config check` does, but may leave anything out.
   * `searcher.max_length` is the length of the one operation of a single search; without it that
   * length is 1. */
  const char *config_json;
  /** Hyperparameters of a new trial as a JSON object. NULL: the constants under `hyperparameters`
   * of the configuration. What the variable DET_HPARAMS has goes before them, value by value. */
  const char *hparams_json;
  /** Where checkpoints go: a directory, file: URL, s3://bucket[/prefix], gs://bucket[/prefix], or a
   * JSON object like `checkpoint_storage` of the configuration (not of type shared_fs). NULL: the
   * configuration's, else the directory of the embedded store. */
  const char *checkpoint_storage;
  /** The ranks of this job. Borrowed: must outlive the core. NULL: one process. */
  det_distributed_context *distributed;

  /** Signals that ask this process to stop, such as SIGTERM: a handler is installed for each until
   * det_core_close(), and chains to the one before. Where one has come, more of its kind do nothing
   * until 10 seconds after that. In a forked child only the handler before counts. Where that is a
   * runtime's own and ends the process, as in Java and Go, catch the signal there and call
   * det_preempt_request() instead. NULL: no handler is installed. Copied. */
  const int32_t *preempt_signals;
  size_t preempt_signal_count; /**< Entries of `preempt_signals`; at most 8. */

  int64_t journal_limit; /**< Bytes the journal may grow to; 0 = 1 GiB. */
  /** How long a report may wait for room when the journal is full and the master is keeping up;
   * by default 10 seconds. When the master does not answer a report never waits. */
  det_timeout journal_wait_ms;
  /** How long det_core_close() waits for the master to take the last reports, and for a storage to
   * delete checkpoints that are not kept; by default 60 seconds. What a storage that hangs has not
   * deleted by then, the next start of the trial deletes. */
  det_timeout close_wait_ms;

  /** NULL: lines go to standard error. Where that is a terminal, a line at the start says which
   * trial of which store this is and how to look at it, and one at the end how to continue it. */
  det_log_callback log;
  void *log_user_data; /**< For `log`. */
  /** Called once with `log_user_data`, on any thread, when `log` will not be called any more: at
   * the latest in det_core_free() (or once the call of `log` returns that it did not wait for), and
   * when det_core_init() fails, but for options that cannot be read (their size, what they
   * have that this release does not know). NULL: nothing to release. */
  void (*log_destroy)(void *log_user_data);
  det_log_queue *log_queue; /**< Takes the lines, in the place of `log`. May be freed before the
                             * core is. NULL: none. */

  det_preempt_mode preempt_mode;         /**< One of DET_PREEMPT_MODE_*. */
  det_tensorboard_mode tensorboard_mode; /**< One of DET_TENSORBOARD_MODE_*. */
  /** A signal, such as SIGUSR1, on which the interrupted thread's stack is printed to standard
   * error. 0: none. */
  int32_t stack_trace_signal;
  /** 1: a process that ends without det_core_close() closes first: with DET_OUTCOME_OK on exit(0)
   * and the return of 0 from main(), with DET_OUTCOME_ERROR on another exit status, an uncaught
   * exception, and the signals SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
   * SIGSEGV and SIGTERM where nothing else handles them: then handlers are installed, which hold up
   * the end of the process for at most 5 seconds and leave its status as it is. After a signal from
   * outside the program goes on meanwhile; a second one ends it at once. */
  int32_t close_at_end;
  /** 1: what this process and its children write to standard output and standard error, also by
   * file descriptor, goes to the trial's log as well, line by line, until det_core_close(); what is
   * written in the moment before the process is killed may be lost, here and there. Nothing in a
   * trial whose cluster collects its output itself, as its set-up in the container does. One core
   * of a process at a time. */
  int32_t capture_output;
  /** 1: a report that returned DET_OK survives a power cut as well, not only the end of the
   * process: each waits for the disk of the journal, some milliseconds, and an embedded store for
   * its own. 0: the last moments before a power cut may be lost. */
  int32_t durable_reports;
  det_log_level log_level; /**< Lines below are dropped; by default DET_LOG_LEVEL_WARNING. */
  int32_t reserved;        /**< 0. */
  /** How long det_core_init() waits for the run before, while a process of it still lives: the
   * ranks of a job outlive a killed mpirun by some seconds. By default it does not wait, and
   * answers DET_E_STATE with `retryable` 1. With an embedded store only. */
  det_timeout run_wait_ms;
} det_core_options;

/** Initialiser with the defaults. */
#define DET_CORE_OPTIONS_INIT                                                                      \
  {                                                                                                \
    sizeof(det_core_options), NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, \
        NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0                                          \
  }

/** Starts (seed: core.init, and entering its context). With no cluster and no master configured it
 * opens or makes the embedded store: a new experiment with one trial, or the next run of the trial
 * asked for. Reports and checkpoints that a killed process left behind are recovered. Options that
 * are wrong, or that this process cannot have, are refused before anything is recorded. Blocks; at
 * most a few milliseconds with an embedded store, with a master over HTTP for as long as that takes
 * to answer a few requests.
 *
 * In a trial that a master's cluster started, that master is told what happens in the trial, asks
 * it to stop, and goes by the exit status of the process. Where `master` or DET_MASTER is a URL in
 * any other process, the trial is on its own: it is made in, or found by its name, and only
 * reports; its master takes it for dead without the heartbeat, which the chief's library sends.
 *
 * With `distributed`, all ranks in step: they are one run of one trial. The chief, rank 0, finds
 * the master and starts the run; the others learn from it where that is. What fails on one rank
 * fails on all, where the message names the rank, and a run that was started is ended as an error.
 * A rank that cannot reach the chief's store (on another machine, without a file system that both
 * share) takes part in collectives, checkpoints, the search and DET_PREEMPT_MODE_WORKERS_ASK_CHIEF;
 * what needs the store, such as reports, answers DET_E_UNSUPPORTED there and says what to do.
 * @param[in]  options  NULL for the defaults. Copied, apart from `distributed`.
 * @param[out] out      Receives the core; release it with det_core_free(). NULL on failure.
 * @return DET_OK; DET_E_INVALID (an option or variable; the message names it); DET_E_NOT_FOUND
 * (trial); DET_E_STATE (another process runs the trial; `retryable` then, see `run_wait_ms`);
 * DET_E_IO, DET_E_ACCESS, DET_E_FULL, DET_E_BUSY, DET_E_CORRUPT (the store, or the files of a
 * cluster); DET_E_UNSUPPORTED (a store of a newer release; a master too old for trials without its
 * cluster; DET_PREEMPT_MODE_WORKERS_ASK_MASTER with a rank that cannot reach the store);
 * DET_E_ACCESS (the master wants another login, or does not prove who it is), DET_E_UNAVAILABLE,
 * DET_E_TIMEOUT (it does not answer); what the communicator fails with.   @since 0.1 */
DET_API det_status det_core_init(const det_core_options *options, det_core **out,
                                 det_error *err) DET_NOEXCEPT;

/** As det_core_init(), with the options as text: for bindings that should not lay out a struct.
 * @param[in] options_json  A JSON object with the members of det_core_options by their names; NULL
 *                          or "{}" for the defaults. `config_json`, `hparams_json` and
 *                          `checkpoint_storage` may be objects as well as text; `preempt_signals`
 *                          is a list of numbers or of names ("SIGTERM"); modes and `log_level` are
 *                          the last parts of their constants ("CHIEF_ONLY", "DEBUG"); what is 0 or
 *                          1 may be false or true. Not in it: `struct_size`, `distributed`, `log`,
 *                          `log_user_data`, `log_destroy`, `log_queue`, `preempt_signal_count`,
 * `reserved`.
 * @param[in] distributed   As `distributed` of the options, or NULL.
 * @param[in] log_queue     As `log_queue` of the options, or NULL.
 * @return As det_core_init(); DET_E_INVALID also for a name that is not known, with those that
 * are.   @since 0.1 */
DET_API det_status det_core_init_json(const char *options_json,
                                      det_distributed_context *distributed,
                                      det_log_queue *log_queue, det_core **out,
                                      det_error *err) DET_NOEXCEPT;

/** How a run ends. */
typedef int32_t det_outcome;
#define DET_OUTCOME_OK 0    /**< In good order: completed, or preempted and acknowledged. */
#define DET_OUTCOME_ERROR 1 /**< Training failed. */
/** Training is not possible with these hyperparameters. The process then exits with status 0: that
 * of a failure would make a master over HTTP start it again. */
#define DET_OUTCOME_INVALID_HP 2

/** Ends the run (seed: leaving the context): waits for asynchronous saves (without limit, but for a
 * close by `close_at_end` after a signal, which leaves them to the next start), carries every
 * report to the master and tells it how the run ended. Every step is done even when one fails; the
 * first failure is returned. Reports that cannot be delivered stay in the journal for `det sync`.
 * Afterwards every function of the core and its views answers DET_E_STATE; the memory stays until
 * det_core_free(). A repeat does nothing, but for what there was no memory for. Blocks. In a forked
 * child it does nothing. A power cut soon after may make the run look killed, which the next start
 * mends.
 *
 * Each rank closes for itself, in any order: no rank waits for another, and reports of one that
 * closes after the chief still arrive. The run ends as the chief says, unless that is
 * DET_OUTCOME_OK and another rank closed with something else, or is gone from the chief's machine
 * without closing: then it ends as that rank did.
 * @param[in] how  One of DET_OUTCOME_*.
 * @return DET_OK; DET_E_INVALID; DET_E_CONFLICT (see det_train_flush()); DET_E_TIMEOUT,
 * DET_E_UNAVAILABLE, DET_E_BUSY, DET_E_IO, DET_E_FULL, DET_E_NOMEM; what an asynchronous save
 * failed with that nobody has heard of.   @since 0.1 */
DET_API det_status det_core_close(det_core *core, det_outcome how, det_error *err) DET_NOEXCEPT;

/** The run was told to stop before its end: it continues with the next start. EX_TEMPFAIL of
 * sysexits.h, which schedulers can be told to take for "start me again".   @since 0.1 */
#define DET_EXIT_PREEMPTED 75

/** The status that the process should leave with, so that its scheduler or parent knows whether the
 * training is done. Call it before det_core_free(), from any thread, before or after
 * det_core_close(). Does not block.
 * @return 0: there is no more to do; DET_EXIT_PREEMPTED: should_preempt answered DET_PREEMPTED, or
 * the signal was acknowledged, and the last operation that the searcher handed out is not complete;
 * 1: closed with DET_OUTCOME_ERROR. 0 for NULL.   @since 0.1 */
DET_API int32_t det_core_exit_status(det_core *core) DET_NOEXCEPT;

/** Releases the core, its views and operations. Closes first with DET_OUTCOME_ERROR if that was not
 * done. NULL does nothing.   @since 0.1 */
DET_API void det_core_free(det_core *core) DET_NOEXCEPT;

/** The facts about this run. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_info *det_core_info(det_core *core) DET_NOEXCEPT;
/** The ranks of this job. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_distributed_context *det_core_distributed(det_core *core) DET_NOEXCEPT;
/** Checkpoints. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_checkpoint_context *det_core_checkpoint(det_core *core) DET_NOEXCEPT;
/** The preemption signal. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_preempt_context *det_core_preempt(det_core *core) DET_NOEXCEPT;
/** Reports. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_train_context *det_core_train(det_core *core) DET_NOEXCEPT;
/** The search. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_searcher_context *det_core_searcher(det_core *core) DET_NOEXCEPT;
/** The profiler. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_profiler_context *det_core_profiler(det_core *core) DET_NOEXCEPT;
/** What the program shows in TensorBoard. Borrowed; NULL for NULL.   @since 0.1 */
DET_API det_tensorboard_context *det_core_tensorboard(det_core *core) DET_NOEXCEPT;

DET_END_DECLS

/* Here, because it takes a core. */
#include <det/trial.h>

#endif
