// What a report costs the training thread, and how many values a second reach the embedded store.
// Rivals in the same run: a line per report to a file, Python's queue.put, a plain SQLite loop.
#include <det/core.h>
#include <sqlite3.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/temporary_directory.h"

namespace {

using namespace bench;

constexpr size_t calls = 400'000;
constexpr int64_t budget_median = 200, budget_p99 = 2000, budget_values = 200'000;

void fill(det_metric (&values)[4], size_t i) {
  const auto x = static_cast<double>(i);
  values[0] = {"loss", 1.0 / (x + 1)};
  values[1] = {"accuracy", 0.5 + 1e-7 * x};
  values[2] = {"learning_rate", 1e-3};
  values[3] = {"gradient_norm", 2.0 + 1e-6 * x};
}

class Run {
 public:
  explicit Run(const std::string &home) {
    det_core_options options = DET_CORE_OPTIONS_INIT;
    options.master = home.c_str();
    check(det_core_init(&options, &core_, &error_), error_);
  }
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;
  ~Run() { det_core_free(core_); }

  void report(size_t i) {
    det_metric values[4];
    fill(values, i);
    check(det_train_report_training_metrics(det_core_train(core_), static_cast<int64_t>(i), values,
                                            4, &error_),
          error_);
  }
  void flush() { check(det_train_flush(det_core_train(core_), -1, &error_), error_); }
  void close() { check(det_core_close(core_, DET_OUTCOME_OK, &error_), error_); }

 private:
  det_core *core_ = nullptr;
  det_error error_ = DET_ERROR_INIT;
};

void run_sql(sqlite3 *store, const char *sql) {
  if (sqlite3_exec(store, sql, nullptr, nullptr, nullptr) != SQLITE_OK) die(sqlite3_errmsg(store));
}

// Keeps the store to itself as long as it lives, so that no delivery succeeds.
class MasterDown {
 public:
  explicit MasterDown(const std::string &home) {
    for (const auto &entry : std::filesystem::recursive_directory_iterator(home))
      if (entry.path().extension() == ".db") {
        if (sqlite3_open(entry.path().c_str(), &store_) != SQLITE_OK) die("opening the store");
        run_sql(store_, "BEGIN IMMEDIATE");
        return;
      }
    die("there is no store to lock");
  }
  MasterDown(const MasterDown &) = delete;
  MasterDown &operator=(const MasterDown &) = delete;
  ~MasterDown() { sqlite3_close(store_); }

 private:
  sqlite3 *store_ = nullptr;
};

Distribution line_to_file(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "w");
  std::vector<std::vector<double>> kept;
  const Distribution d = measure(calls, 0, [&](size_t i) {
    det_metric values[4];
    fill(values, i);
    kept.push_back({values[0].value, values[1].value, values[2].value, values[3].value});
    std::fprintf(file, "%zu", i);
    for (const det_metric &value : values) std::fprintf(file, " %s=%.17g", value.name, value.value);
    std::fputc('\n', file);
    std::fflush(file);
  });
  std::fclose(file);
  return d;
}

// Nothing where there is no Python.
bool python_queue(Distribution &d) {
  const char *command =
      "python3 -c \"import queue, time\n"
      "q, times = queue.Queue(), []\n"
      "for i in range(200000):\n"
      "  a = time.perf_counter_ns()\n"
      "  q.put(('training', i, {'loss': 1.0, 'accuracy': .5, 'lr': 1e-3, 'norm': 2.0}))\n"
      "  times.append(time.perf_counter_ns() - a)\n"
      "times.sort()\n"
      "print(times[100000], times[198000], times[-1])\" 2>/dev/null";
  std::FILE *python = popen(command, "r");
  if (python == nullptr) return false;
  long long median = 0, p99 = 0, max = 0;
  const int got = std::fscanf(python, "%lld %lld %lld", &median, &p99, &max);
  pclose(python);
  d = {median, p99, max};
  return got == 3;
}

// Values a second, one row each, in transactions of 1,000 rows.
double plain_sqlite(const std::string &path) {
  sqlite3 *store = nullptr;
  sqlite3_stmt *insert = nullptr;
  if (sqlite3_open(path.c_str(), &store) != SQLITE_OK) die("opening a database");
  run_sql(store,
          "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
          "CREATE TABLE metrics (trial, series, step, name, value)");
  sqlite3_prepare_v2(store, "INSERT INTO metrics VALUES (1, 'training', ?, ?, ?)", -1, &insert,
                     nullptr);
  const int64_t begin = now_ns();
  for (size_t i = 0; i < calls; ++i) {
    if (i % 250 == 0) run_sql(store, i == 0 ? "BEGIN" : "COMMIT; BEGIN");
    det_metric values[4];
    fill(values, i);
    for (const det_metric &value : values) {
      sqlite3_bind_int64(insert, 1, static_cast<int64_t>(i));
      sqlite3_bind_text(insert, 2, value.name, -1, SQLITE_STATIC);
      sqlite3_bind_double(insert, 3, value.value);
      if (sqlite3_step(insert) != SQLITE_DONE) die(sqlite3_errmsg(store));
      sqlite3_reset(insert);
    }
  }
  run_sql(store, "COMMIT");
  sqlite3_finalize(insert);
  sqlite3_close(store);
  return 4e9 * calls / static_cast<double>(now_ns() - begin);
}

void compare_calls(const std::string &home, const std::string &scratch) {
  std::printf("A report of 4 values, caller's side, in ns: %10s %9s %11s\n", "median", "p99",
              "max");
  Run run(home);
  run.report(0);
  const Distribution tight = measure(calls, 0, [&](size_t i) { run.report(i); });
  print("det, one after the other", tight);
  run.flush();
  print("det, every 20 us", measure(50'000, 20'000, [&](size_t i) { run.report(calls + i); }));
  run.flush();
  {
    const MasterDown down(home);
    print("det, every 20 us, master down",
          measure(50'000, 20'000, [&](size_t i) { run.report(calls + 50'000 + i); }));
  }
  run.flush();
  const int64_t begin = now_ns();
  for (size_t i = 0; i < calls; ++i) run.report(calls + 100'000 + i);
  const int64_t average = (now_ns() - begin) / static_cast<int64_t>(calls);
  std::printf("  %-44s %7lld on average\n", "det, in a loop that does nothing else",
              static_cast<long long>(average));
  run.close();
  std::printf("  %-44s %7lld %9lld\n", "budget", static_cast<long long>(budget_median),
              static_cast<long long>(budget_p99));
  const Distribution line = line_to_file(scratch + "/lines");
  print("a vector and a line to a file", line);
  Distribution python{};
  const bool has_python = python_queue(python);
  if (has_python) print("Python's queue.put", python);
  std::printf("  medians: det takes %.2f x a line to a file",
              static_cast<double>(tight.median) / static_cast<double>(line.median));
  if (has_python)
    std::printf(", %.2f x queue.put",
                static_cast<double>(tight.median) / static_cast<double>(python.median));
  std::printf("\n");
}

void compare_stores(const std::string &home, const std::string &scratch) {
  const int64_t begin = now_ns();
  {
    Run run(home);
    for (size_t i = 0; i < calls; ++i) run.report(i);
    run.close();
  }
  const double det = 4e9 * calls / static_cast<double>(now_ns() - begin);
  const double plain = plain_sqlite(scratch + "/plain.db");
  std::printf("Values a second into the store, from init through close:\n");
  std::printf("  det %.0f, budget %lld; a plain SQLite loop %.0f; ratio %.2f\n", det,
              static_cast<long long>(budget_values), plain, det / plain);
}

}  // namespace

int main() {
  const det::TemporaryDirectory directory;
  compare_calls((directory / "calls").string(), directory.path().string());
  compare_stores((directory / "store").string(), directory.path().string());
  return 0;
}
