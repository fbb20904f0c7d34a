// What a report costs the training thread, and how many values a second reach the embedded store.
// Rivals in the same run: a line per report to a file, Python's queue.put, a plain SQLite loop.
#include <det/core.h>
#include <sqlite3.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using namespace bench;

constexpr size_t calls = 400'000;
constexpr int64_t budget_median = 200, budget_p99 = 2000;
constexpr size_t stored = 200'000;  // in a round, by each in turn
constexpr int rounds = 5;

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

// How a rival stores the four values of a report.
struct Layout {
  const char *table;
  const char *insert;
};

constexpr Layout row_per_value{
    "CREATE TABLE metrics (trial, series, step, name, value)",
    "INSERT INTO metrics VALUES (1, 'training', ?, ?, ?)",
};
constexpr Layout row_per_report{
    "CREATE TABLE metrics (id INTEGER PRIMARY KEY, trial, series TEXT, step, time, metrics TEXT);"
    "CREATE INDEX by_step ON metrics (trial, series, step);"
    "CREATE INDEX by_trial ON metrics (trial)",
    "INSERT INTO metrics (trial, series, step, time, metrics) VALUES (1, 'training', ?, ?, ?)",
};

class PlainSqlite {
 public:
  PlainSqlite(const std::string &path, const Layout &layout) {
    if (sqlite3_open(path.c_str(), &store_) != SQLITE_OK) die("opening a database");
    run_sql(store_, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL");
    run_sql(store_, layout.table);
    sqlite3_prepare_v2(store_, layout.insert, -1, &insert_, nullptr);
  }
  PlainSqlite(const PlainSqlite &) = delete;
  PlainSqlite &operator=(const PlainSqlite &) = delete;
  ~PlainSqlite() {
    sqlite3_finalize(insert_);
    sqlite3_close(store_);
  }

  void add_row_per_value(size_t i, const det_metric (&values)[4]) {
    for (const det_metric &value : values) {
      sqlite3_bind_int64(insert_, 1, static_cast<int64_t>(i));
      sqlite3_bind_text(insert_, 2, value.name, -1, SQLITE_STATIC);
      sqlite3_bind_double(insert_, 3, value.value);
      step();
    }
  }

  void add_row_per_report(size_t i, const det_metric (&values)[4]) {
    char text[256];
    const int size =
        std::snprintf(text, sizeof text, R"({"%s":%.17g,"%s":%.17g,"%s":%.17g,"%s":%.17g})",
                      values[0].name, values[0].value, values[1].name, values[1].value,
                      values[2].name, values[2].value, values[3].name, values[3].value);
    sqlite3_bind_int64(insert_, 1, static_cast<int64_t>(i));
    sqlite3_bind_int64(insert_, 2, now_ns());
    sqlite3_bind_text(insert_, 3, text, size, SQLITE_STATIC);
    step();
  }

  void begin() { run_sql(store_, "BEGIN"); }
  void commit() { run_sql(store_, "COMMIT"); }

 private:
  void step() {
    if (sqlite3_step(insert_) != SQLITE_DONE) die(sqlite3_errmsg(store_));
    sqlite3_reset(insert_);
  }

  sqlite3 *store_ = nullptr;
  sqlite3_stmt *insert_ = nullptr;
};

// Seconds for all reports, in transactions as large as those of a delivery.
template <class Add>
double plain_sqlite(const std::string &path, const Layout &layout, const Add &add) {
  const int64_t begin = now_ns();
  {
    PlainSqlite store(path, layout);
    store.begin();
    for (size_t i = 0; i < stored; ++i) {
      if (i % 8000 == 7999) {
        store.commit();
        store.begin();
      }
      det_metric values[4];
      fill(values, i);
      add(store, i, values);
    }
    store.commit();
  }
  return static_cast<double>(now_ns() - begin) / 1e9;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
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
  const auto seconds = [](const Distribution &d) { return static_cast<double>(d.median) / 1e9; };
  const char *name = "a report of 4 values, caller's side";
  bench_row(name, seconds(tight), "a line to a file", seconds(line), "s", 1);
  if (has_python) bench_row(name, seconds(tight), "Python's queue.put", seconds(python), "s", 1);
}

// All but the writing of plots is what the rivals do, too.
void compare_stores(const std::string &scratch) {
  std::vector<double> ours, per_value, per_report, processor, lag;
  for (int round = 0; round < rounds; ++round) {
    const std::string place = scratch + "/round" + std::to_string(round);
    const double before = processor_seconds();
    const int64_t begin = now_ns();
    {
      Run run(place);
      for (size_t i = 0; i < stored; ++i) run.report(i);
      const int64_t last = now_ns();
      run.flush();
      lag.push_back(static_cast<double>(now_ns() - last) / 1e9);
      run.close();
    }
    ours.push_back(static_cast<double>(now_ns() - begin) / 1e9);
    processor.push_back(processor_seconds() - before);
    per_value.push_back(plain_sqlite(place + "/values.db", row_per_value,
                                     [](PlainSqlite &store, size_t i, const auto &values) {
                                       store.add_row_per_value(i, values);
                                     }));
    per_report.push_back(plain_sqlite(place + "/reports.db", row_per_report,
                                      [](PlainSqlite &store, size_t i, const auto &values) {
                                        store.add_row_per_report(i, values);
                                      }));
    std::filesystem::remove_all(place);
  }
  const auto rate = [](const std::vector<double> &seconds) {
    return 4 * static_cast<double>(stored) / median(seconds);
  };
  const char *name = "values into the store, from init through close";
  bench_row(name, rate(ours), "SQLite, a row per value", rate(per_value), "values/s", 0.8);
  bench_row(name, rate(ours), "SQLite, our rows and indexes", rate(per_report), "values/s", 0.8);
  std::printf(
      "  a report with its delivery takes %.2f us of the processor's time; the last of %zu is"
      " delivered %.0f ms after it was made\n",
      median(processor) / static_cast<double>(stored) * 1e6, stored, median(lag) * 1e3);
}

}  // namespace

int main() {
  const det::TemporaryDirectory directory;
  compare_calls((directory / "calls").string(), directory.path().string());
  compare_stores(directory.path().string());
  return 0;
}
