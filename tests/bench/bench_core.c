/* Starting and ending a run, asking for preemption, the library's size and its idle threads. The
 * rivals: starting a Python that does nothing, which no Python harness can beat, and clock_gettime,
 * the cheapest question to the system. */
#include <det/core.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { starts = 51, questions = 20000000 };

static det_error err = DET_ERROR_INIT;

static void check(det_status status) {
  if (status == DET_OK) return;
  fprintf(stderr, "bench: %s\n", err.message);
  exit(EXIT_FAILURE);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static int ascending(const void *a, const void *b) {
  double difference = *(const double *)a - *(const double *)b;
  return (difference > 0) - (difference < 0);
}

static double median(double *values) {
  qsort(values, starts, sizeof *values, ascending);
  return values[starts / 2];
}

static int threads(void) {
  int count = -2; /* "." and ".." */
  DIR *tasks = opendir("/proc/self/task");
  while (readdir(tasks) != NULL) ++count;
  closedir(tasks);
  return count;
}

int main(int argc, char **argv) {
  char home[] = "/tmp/detcore-bench-XXXXXX", command[64];
  double ours[starts], python[starts];
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = mkdtemp(home);
  det_core *core;
  for (int i = 0; i < starts; ++i) {
    double begin = now_ms();
    check(det_core_init(&options, &core, &err));
    check(det_core_close(core, DET_OUTCOME_OK, &err));
    ours[i] = now_ms() - begin;
    det_core_free(core);
    begin = now_ms();
    if (system("python3 -c pass") != 0) return EXIT_FAILURE;
    python[i] = now_ms() - begin;
  }
  printf("init and close: median %.2f ms (budget 5), %.2f x python3 -c pass\n", median(ours),
         ours[starts / 2] / median(python));

  check(det_core_init(&options, &core, &err));
  double begin = now_ms();
  for (int i = 0; i < questions; ++i)
    check(det_preempt_should_preempt(det_core_preempt(core), &err));
  double asked = now_ms() - begin;
  struct timespec ignored;
  begin = now_ms();
  for (int i = 0; i < questions; ++i) clock_gettime(CLOCK_REALTIME, &ignored);
  printf("should_preempt: %.1f ns (budget 20), %.2f x clock_gettime\n", asked * 1e6 / questions,
         asked / (now_ms() - begin));
  printf("idle threads of the library: %d (budget 2)\n", threads() - 1);
  check(det_core_close(core, DET_OUTCOME_OK, &err));
  det_core_free(core);

  struct stat about;
  if (argc > 1 && stat(argv[1], &about) == 0)
    printf("libdetcore.so: %.2f MB with its symbols (budget 4, stripped)\n",
           (double)about.st_size / 1e6);
  snprintf(command, sizeof command, "rm -rf '%s'", home);
  return system(command);
}
