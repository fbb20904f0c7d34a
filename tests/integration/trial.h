// A trial as a test drives it: every failure of the library fails the test with its message.
#pragma once

#include <det/core.h>

#include "tests/storage_id.h"

// Fails the test on a negative status, whose message is in `trial_error`. Gives the status.
det_status must(det_status status);
extern det_error trial_error;

// The next run of the trial with this external id in the store at `home`, or of a new one for NULL.
// `preempt_signal` 0: none.
det_core *start_run(const char *home, const char *external_id, int32_t preempt_signal);
// Closes in good order.
void end_run(det_core *core);

// One training report with the metric "loss".
void report_loss(det_core *core, int64_t steps);
// An empty checkpoint; `id` receives its STORAGE_ID_SIZE bytes.
void save_steps(det_core *core, int64_t steps, char *id);
int should_preempt(det_core *core);

// Asks before each step, as a training loop does, until told to stop.
void train_until_preempted(det_core *core);

det_client *open_client(const char *home);
void assert_state(const char *home, int64_t trial_id, const char *expected);
int64_t count_reports(const char *home, int64_t trial_id);
