// Kills a trial at random instants while it reports and saves, and looks for everything that had
// returned. DET_CRASH_KILLS and DET_CRASH_SEED choose how often and when.
#include "tests/integration/test_crash.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/cmocka.h"
#include "tests/integration/sample_checkpoint.h"
#include "tests/integration/support.h"
#include "tests/integration/trial.h"
#include "tests/storage_id.h"

static char *home, *ledger_path;
static struct ledger *ledger;
static det_core *core;  // the run after the last kill

static int setup(void **state) {
  (void)state;
  home = make_directory();
  ledger_path = join(home, "ledger");
  int file = open(ledger_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof *ledger) != 0) return -1;
  ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return ledger == MAP_FAILED ? -1 : 0;
}

static int teardown(void **state) {
  (void)state;
  det_core_free(core);
  munmap(ledger, sizeof *ledger);
  free(ledger_path);
  remove_directory(home);
  return 0;
}

static pid_t start_worker(void) {
  pid_t worker = fork();
  if (worker == 0) {
    execl("/proc/self/exe", "test_crash", home, ledger_path, (char *)NULL);
    _exit(127);
  }
  assert_true(worker > 0);
  return worker;
}

// Waits until a number in the ledger, which the worker raises, is `least`.
static void wait_for(pid_t worker, const _Atomic int64_t *number, int64_t least) {
  while (*number < least) {
    siginfo_t ended = {0};
    waitid(P_PID, (id_t)worker, &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == worker) fail_msg("the worker ended before it was killed");
    sleep_us(100);
  }
}

// A random instant while the worker starts, reports at full speed, or saves its first checkpoints.
static void wait_for_the_instant(pid_t worker, uint64_t *seed) {
  int64_t checkpoints = ledger->checkpoints;
  uint64_t longest_us = 50000;
  switch (random_bits(seed) % 4) {
    case 0:
      break;
    case 1:
      wait_for(worker, &ledger->run_id, 1);
      longest_us = 4000;
      break;
    default:
      wait_for(worker, &ledger->run_id, 1);
      wait_for(worker, &ledger->checkpoints, checkpoints + (int64_t)(random_bits(seed) % 3));
  }
  sleep_us((int64_t)(random_bits(seed) % longest_us));
}

static void kill_worker(pid_t worker) {
  int status = 0;
  kill(worker, SIGKILL);
  waitpid(worker, &status, 0);
  assert_true(WIFSIGNALED(status));
}

// Calls `visit` with every visible directory of the storage but that of the TensorBoard files.
static void visit_stored(void (*visit)(const char *id, const char *directory)) {
  char *storage = join(home, "checkpoints");
  DIR *list = opendir(storage);
  for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    char *directory = join(storage, entry->d_name), *other = join(directory, "tensorboard");
    if (access(other, F_OK) != 0) visit(entry->d_name, directory);
    free(other);
    free(directory);
  }
  if (list) closedir(list);
  free(storage);
}

static void assert_complete(const char *id, const char *directory) {
  const char *wrong = check_checkpoint(directory);
  if (wrong) fail_msg("checkpoint %s: %s", id, wrong);
}

static void runs_count_up_and_no_half_checkpoint_shows_after_any_kill(void **state) {
  (void)state;
  const char *kills_text = getenv("DET_CRASH_KILLS"), *seed_text = getenv("DET_CRASH_SEED");
  int kills = kills_text ? atoi(kills_text) : 200;
  uint64_t seed = seed_text ? strtoull(seed_text, NULL, 10) : (uint64_t)time(NULL);
  print_message("# DET_CRASH_SEED=%llu\n", (unsigned long long)seed);

  int64_t last_run = 0, unseen = 0;  // runs that may have begun without telling us
  for (int i = 0; i < kills; i++) {
    ledger->run_id = 0;
    pid_t worker = start_worker();
    wait_for_the_instant(worker, &seed);
    kill_worker(worker);

    unseen++;
    if (ledger->run_id != 0) {
      assert_in_range(ledger->run_id, last_run + 1, last_run + unseen);
      last_run = ledger->run_id;
      unseen = 0;
    }
    visit_stored(assert_complete);
  }
  must(crash_init(home, &core, &trial_error));
  assert_in_range(det_info_trial_run_id(det_core_info(core)), last_run + 1, last_run + unseen + 1);
  must(det_train_flush(det_core_train(core), DET_TIMEOUT_INFINITE, &trial_error));
}

// Calls `visit` with every answer of a list that comes in pages.
typedef det_status (*list_page)(det_client *, int64_t trial_id, const char *group,
                                const det_client_page *, char **out, det_error *);
static void visit_pages(list_page list, const char *group, void (*visit)(const char *json)) {
  det_client *client = open_client(home);
  det_client_page page = DET_CLIENT_PAGE_INIT;
  page.limit = 100000;
  do {
    char *json;
    must(list(client, det_info_trial_id(det_core_info(core)), group, &page, &json, &trial_error));
    visit(json);
    const char *next = NULL;
    for (const char *at = json; (at = json_find(at, "next")) != NULL;) next = at;
    page.after = next ? (int64_t)json_number(next) : 0;
    det_free(json);
  } while (page.after != 0);
  det_client_free(client);
}

static uint8_t *found[CRASH_RUNS];  // of one group: how often each report is stored
static const char *found_group;

static void note_report(int64_t steps) {
  int64_t run = steps / CRASH_REPORTS_MAX, report = steps % CRASH_REPORTS_MAX;
  assert_in_range(run, 1, CRASH_RUNS - 1);
  if (!found[run]) found[run] = calloc(CRASH_REPORTS_MAX, 1);
  found[run][report]++;
}

static void note_metrics(const char *json) {
  const char *value = json, *at = json;
  while ((value = json_find(value, "value")) && (at = json_find(at, "steps_completed"))) {
    int64_t steps = (int64_t)json_number(at);
    assert_true(json_number(value) == (double)steps);
    assert_false(crash_is_log(steps));
    note_report(steps);
  }
}

static void note_logs(const char *json) {
  size_t length = strlen(found_group);
  for (const char *at = json; (at = json_find(at, "text")) != NULL;) {
    if (strncmp(at + 1, found_group, length) == 0)
      note_report((int64_t)json_number(at + 1 + length));
  }
}

static det_status list_logs(det_client *client, int64_t trial_id, const char *group,
                            const det_client_page *page, char **out, det_error *error) {
  (void)group;
  return det_client_list_logs(client, trial_id, page, out, error);
}

static void every_report_that_returned_is_stored_once(void **state) {
  (void)state;
  int64_t total = 0;
  for (int thread = 0; thread < CRASH_THREADS; thread++) {
    found_group = crash_groups[thread];
    visit_pages(det_client_list_metrics, found_group, note_metrics);
    visit_pages(list_logs, NULL, note_logs);
    for (int run = 1; run < CRASH_RUNS; run++) {
      int64_t begun = ledger->reports[run][thread].begun;
      int64_t acknowledged = ledger->reports[run][thread].acknowledged;
      for (int64_t i = 0; found[run] && i < CRASH_REPORTS_MAX; i++) {
        int least = i < acknowledged, most = i < begun;
        if (found[run][i] < least || found[run][i] > most)
          fail_msg("report %lld of run %d, group %s, is stored %d times", (long long)i, run,
                   found_group, found[run][i]);
      }
      if (acknowledged > 0 && !found[run]) fail_msg("no report of run %d is stored", run);
      total += acknowledged;
      free(found[run]);
      found[run] = NULL;
    }
  }
  print_message("# %lld reports had returned\n", (long long)total);
  assert_true(total > 0);
}

static char listed[CRASH_CHECKPOINTS][STORAGE_ID_SIZE];
static size_t listed_count;

static int compare_ids(const void *a, const void *b) { return strcmp(a, b); }

static int is_listed(const char *id) {
  return bsearch(id, listed, listed_count, sizeof *listed, compare_ids) != NULL;
}

static det_status list_checkpoints(det_client *client, int64_t trial_id, const char *group,
                                   const det_client_page *page, char **out, det_error *error) {
  (void)group;
  return det_client_list_checkpoints(client, trial_id, page, out, error);
}

static void note_checkpoints(const char *json) {
  for (const char *at = json; (at = json_find(at, "uuid")) != NULL;) {
    assert_true(listed_count < CRASH_CHECKPOINTS);
    snprintf(listed[listed_count++], STORAGE_ID_SIZE, "%.36s", at + 1);
  }
}

static void every_checkpoint_that_was_committed_is_listed_and_restores(void **state) {
  (void)state;
  visit_pages(list_checkpoints, NULL, note_checkpoints);
  qsort(listed, listed_count, sizeof *listed, compare_ids);
  print_message("# %lld commits had returned, %zu checkpoints are listed\n",
                (long long)ledger->checkpoints, listed_count);
  assert_true(ledger->checkpoints > 0);
  for (int64_t i = 0; i < ledger->checkpoints; i++) {
    if (!is_listed(ledger->checkpoint[i])) fail_msg("%s is not listed", ledger->checkpoint[i]);
  }
  for (size_t i = 0; i < listed_count; i++) {
    if (i > 0) assert_string_not_equal(listed[i - 1], listed[i]);
    det_checkpoint_reader *restore;
    must(det_checkpoint_reader_open(det_core_checkpoint(core), listed[i], NULL, &restore,
                                    &trial_error));
    assert_complete(listed[i], det_checkpoint_reader_path(restore));
    det_checkpoint_reader_free(restore);
  }
}

static size_t stored_count;

static void assert_listed(const char *id, const char *directory) {
  (void)directory;
  stored_count++;
  if (!is_listed(id)) fail_msg("%s is stored, but the master does not know it", id);
}

static void storage_holds_exactly_the_listed_checkpoints(void **state) {
  (void)state;
  visit_stored(assert_listed);
  assert_int_equal(stored_count, listed_count);
}

static void assert_empty(const char *directory) {
  char *path = join(home, directory);
  DIR *list = opendir(path);
  for (struct dirent *entry; list && (entry = readdir(list)) != NULL;) {
    if (entry->d_name[0] != '.') fail_msg("%s/%s is left over", directory, entry->d_name);
  }
  if (list) closedir(list);
  free(path);
}

static void nothing_is_left_over(void **state) {
  (void)state;
  must(det_core_close(core, DET_OUTCOME_OK, &trial_error));
  assert_empty("checkpoints/.partial");
  assert_empty(".detcore/runs");
  det_client *client = open_client(home);
  char *json;
  must(det_client_sync(client, &json, &trial_error));
  assert_null(json_find(json, "trial_id"));
  assert_true(json_number(json_find(json, "busy")) == 0);
  det_free(json);
  det_client_free(client);
}

int main(int argc, char **argv) {
  if (argc == 3) return crash_worker(argv[1], argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_count_up_and_no_half_checkpoint_shows_after_any_kill),
      cmocka_unit_test(every_report_that_returned_is_stored_once),
      cmocka_unit_test(every_checkpoint_that_was_committed_is_listed_and_restores),
      cmocka_unit_test(storage_holds_exactly_the_listed_checkpoints),
      cmocka_unit_test(nothing_is_left_over),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
