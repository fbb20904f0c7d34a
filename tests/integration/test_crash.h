// The crash test: a worker that is killed again and again, and the ledger in shared memory where it
// notes what the library promised to keep. The ledger outlives the worker, so it knows exactly what
// had returned at the instant of the kill.
#pragma once

#include <det/core.h>
#include <stdatomic.h>
#include <stdint.h>

#include "tests/storage_id.h"

enum {
  CRASH_THREADS = 2,
  CRASH_RUNS = 2000,
  CRASH_CHECKPOINTS = 20000,
  CRASH_REPORTS_MAX = 100000  // of one thread in one run
};

struct ledger {
  _Atomic int64_t run_id;  // of the worker now running; 0 until det_core_init() returned
  struct {
    _Atomic int64_t begun, acknowledged;  // reports called, reports returned
  } reports[CRASH_RUNS][CRASH_THREADS];
  _Atomic int64_t checkpoints;  // commits returned
  char checkpoint[CRASH_CHECKPOINTS][STORAGE_ID_SIZE];
};

// One group for each thread. A report is a metric "value" equal to its steps, or a log line of the
// group and the steps.
extern const char *const crash_groups[CRASH_THREADS];
static inline int64_t crash_steps(int64_t run_id, int64_t report) {
  return run_id * CRASH_REPORTS_MAX + report;
}
static inline int crash_is_log(int64_t steps) { return steps % 8 == 7; }

// Starts the next run of the one trial.
det_status crash_init(const char *home, det_core **core, det_error *err);

// Reports from all threads and saves checkpoints until it is killed. Returns after a failure only.
int crash_worker(const char *home, const char *ledger_path);
