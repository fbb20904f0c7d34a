// How long calls take.
#pragma once

#include <det/error.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace bench {

inline int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

[[noreturn]] inline void die(const std::string &what) {
  std::fprintf(stderr, "benchmark: %s\n", what.c_str());
  std::exit(1);
}

inline void check(det_status status, const det_error &error) {
  if (status < 0) die(error.message);
}

struct Distribution {
  int64_t median, p99, max;
};

inline Distribution distribution(std::vector<int64_t> &times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100], times.back()};
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// What reading the clock twice adds to each time.
inline int64_t clock_cost() {
  std::vector<int64_t> times;
  for (int i = 0; i < 100'000; ++i) {
    const int64_t begin = now_ns();
    times.push_back(now_ns() - begin);
  }
  return distribution(times).median;
}

// Times `call(i)` for each i; `pause_ns` between calls stands for training.
template <class Call>
Distribution measure(size_t count, int64_t pause_ns, Call &&call) {
  static const int64_t cost = clock_cost();
  std::vector<int64_t> times(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t begin = now_ns();
    call(i);
    const int64_t end = now_ns();
    times[i] = std::max<int64_t>(end - begin - cost, 0);
    while (now_ns() < end + pause_ns) {
    }
  }
  return distribution(times);
}

inline void print(const char *name, const Distribution &d) {
  std::printf("  %-44s %7lld %9lld %11lld\n", name, static_cast<long long>(d.median),
              static_cast<long long>(d.p99), static_cast<long long>(d.max));
}

}  // namespace bench
