/* bench_core LIBRARY: starting and ending a run, asking for preemption, the library's size, memory
 * and idle threads. The rivals: the process of a Python that does nothing, which no Python harness
 * can beat, and clock_gettime, the cheapest question to the system.
 *
 * Started as `bench_core --run STORE` it is a program that starts a run and ends it, and as
 * `bench_core --link` one that only links the library. */
#include <det/core.h>
#include <dirent.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/bench/median.h"
#include "tests/bench/row.h"

enum { starts = 101, rounds = 21, questions = 1000000 };

extern char **environ;
static det_error err = DET_ERROR_INIT;

static void check(det_status status) {
  if (status == DET_OK) return;
  fprintf(stderr, "bench: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static double now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int threads(void) {
  int count = -2; /* "." and ".." */
  DIR *tasks = opendir("/proc/self/task");
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}

static int count_object(struct dl_phdr_info *object, size_t size, void *count) {
  (void)object;
  (void)size;
  ++*(int *)count;
  return 0;
}

static det_core *start(const char *store) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = store;
  det_core *core;
  check(det_core_init(&options, &core, &err));
  return core;
}

static void end(det_core *core) {
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);
}

/* Seconds from the spawn of a process until its end is known; adds its memory in KiB. */
static double whole_process(const char *const *arguments, long *memory) {
  const double begin = now();
  pid_t process;
  int status;
  struct rusage usage;
  if (posix_spawn(&process, arguments[0], NULL, NULL, (char *const *)arguments, environ) != 0 ||
      wait4(process, &status, 0, &usage) != process || status != 0) {
    fprintf(stderr, "bench: %s failed\n", arguments[0]);
    exit(EXIT_FAILURE);
  }
  *memory = usage.ru_maxrss;
  return now() - begin;
}

static void compare_processes(const char *self, const char *store) {
  const char *const run[] = {self, "--run", store, NULL}, *const link[] = {self, "--link", NULL};
  const char *const python[] = {"/usr/bin/python3", "-c", "pass", NULL};
  double ours[starts], linking[starts], theirs[starts];
  long our_memory = 0, linked_memory = 0, their_memory = 0;
  for (int i = 0; i < starts; ++i) {
    ours[i] = whole_process(run, &our_memory);
    linking[i] = whole_process(link, &linked_memory);
    theirs[i] = whole_process(python, &their_memory);
  }
  bench_row("a process that starts and ends a run in a store", bench_median(ours, starts),
            "python3 -c pass", bench_median(theirs, starts), "s", 0.4);
  bench_row("a process that only links the library", bench_median(linking, starts),
            "python3 -c pass", bench_median(theirs, starts), "s", 0);
  int objects = 0;
  dl_iterate_phdr(count_object, &objects);
  printf("memory of such a process: %.1f MB with a run, %.1f MB linked, %.1f MB python3\n",
         (double)our_memory / 1024, (double)linked_memory / 1024, (double)their_memory / 1024);
  printf("shared objects in it: %d, with the program, the loader and the vDSO\n", objects);
}

static void compare_questions(det_core *core) {
  double ours[rounds], theirs[rounds];
  struct timespec ignored;
  for (int round = 0; round < rounds; ++round) {
    double begin = now();
    for (int i = 0; i < questions; ++i)
      check(det_preempt_should_preempt(det_core_preempt(core), &err));
    ours[round] = (now() - begin) / questions;
    begin = now();
    for (int i = 0; i < questions; ++i) clock_gettime(CLOCK_REALTIME, &ignored);
    theirs[round] = (now() - begin) / questions;
  }
  bench_row("should_preempt in a loop", bench_median(ours, rounds), "clock_gettime",
            bench_median(theirs, rounds), "s", 1.2);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--link") == 0) return EXIT_SUCCESS;
  if (argc > 2 && strcmp(argv[1], "--run") == 0) {
    end(start(argv[2]));
    return EXIT_SUCCESS;
  }
  char home[] = "/tmp/detcore-bench-XXXXXX", command[64];
  const char *store = mkdtemp(home);
  compare_processes(argv[0], store);

  double times[starts];
  for (int i = 0; i < starts; ++i) {
    const double begin = now();
    end(start(store));
    times[i] = now() - begin;
  }
  printf("init and close in a process that lives: median %.2f ms\n",
         bench_median(times, starts) * 1e3);

  det_core *core = start(store);
  compare_questions(core);
  printf("idle threads of the library: %d (budget 2)\n", threads() - 1);
  end(core);

  struct stat about;
  if (argc > 1 && stat(argv[1], &about) == 0)
    printf("libdetcore.so: %.2f MB with its symbols (budget 4, stripped)\n",
           (double)about.st_size / 1e6);
  snprintf(command, sizeof command, "rm -rf '%s'", home);
  return system(command);
}
