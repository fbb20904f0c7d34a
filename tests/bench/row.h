/* One row of a benchmark's table, in C and C++: a line of Markdown that also reads well in a
 * terminal. */
#pragma once

#include <stdio.h>
#include <string.h>

/* `ours` and `theirs` are medians of one run, in seconds for the unit "s", which is scaled. The
 * goal is a ratio: at least that for a unit such as "MB/s", at most that for any other, and none
 * for 0. row.py prints the same for Python. */
static inline void bench_row(const char *name, double ours, const char *rival, double theirs,
                             const char *unit, double goal) {
  const double all[] = {ours, theirs};
  char text[2][32], wanted[32] = "";
  for (int i = 0; i < 2; ++i) {
    double value = all[i];
    const char *of = unit;
    if (strcmp(unit, "s") == 0) {
      const char *const scales[] = {"s", "ms", "us", "ns"};
      int scale = 0;
      for (; value < 1 && scale < 3; ++scale) value *= 1e3;
      of = scales[scale];
    }
    snprintf(text[i], sizeof text[i], value < 1000 ? "%.3g %s" : "%.0f %s", value, of);
  }
  const size_t length = strlen(unit);
  const char *sense = length > 2 && strcmp(unit + length - 2, "/s") == 0 ? "at least" : "at most";
  if (goal > 0) snprintf(wanted, sizeof wanted, "%s %.2f x", sense, goal);
  char ratio[16];
  snprintf(ratio, sizeof ratio, ours < theirs / 10 ? "%.2g" : "%.2f", ours / theirs);
  printf("| %-52s | %12s | %12s | %-32s | %6s x | %-15s |\n", name, text[0], text[1], rival, ratio,
         wanted);
  fflush(stdout);
}
