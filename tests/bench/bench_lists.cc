// A `det` of which only the first screen is read, as a whole process, in a store of 100,000 trials
// and 10,000,000 reports, beside a sqlite3 with a query written by hand for that very screen.
//   bench_lists DET [TRIALS]
// The store is made once, in the directory for temporary files, and kept for the next time.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "core/engine/store.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"

namespace {

using namespace det;
namespace fs = std::filesystem;

constexpr double budget = 0.030;  // seconds
constexpr int screen = 40;        // lines
constexpr int rounds = 9;

// Half of the trials are those of one search, the others are runs of programs by themselves. Half
// of the reports are those of the first trial.
void fill(engine::Database &store, int64_t trials) {
  engine::Transaction transaction(store, engine::Durability::relaxed);
  const auto many = [](int64_t count) {
    return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<" +
           std::to_string(count) + ") ";
  };
  const int64_t searched = trials / 2;
  const std::string config =
      R"('{"searcher":{"name":"random","metric":"loss"},"hyperparameters":{"lr":0.1}}')";
  store.run(
      "INSERT INTO experiments (name, state, config, created, managed, progress)"
      " VALUES ('search', 'ACTIVE', " +
      config + ", 1, 1, 0.5)");
  store.run(many(trials - searched) +
            "INSERT INTO experiments (name, state, config, created, ended)"
            " SELECT 'digits', 'COMPLETED', " +
            config + ", 1, 2 FROM n");
  store.run(many(trials) +
                "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, last_run,"
                " progress, created, ended, best_metric, best_order)"
                " SELECT MAX(1, i-?+1), 'COMPLETED', '{\"lr\":'||i||'}', 1, 't', 1, 1, 1, 2,"
                " i*7919%1000003/1000003.0, i*7919%1000003/1000003.0 FROM n",
            searched);
  store.run(many(trials) +
            "INSERT INTO runs (trial_id, run_id, allocation_id, journal_id, process, command,"
            " started, ended, exit) SELECT i, 1, 'a', 'j', '{}', './digits', 1, 2, 'ok' FROM n");
  const std::string reports =
      "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics) SELECT ";
  const std::string values = ", i, 1, '{\"loss\":'||(i%1000/1000.0)||',\"accuracy\":0.5}' FROM n";
  store.run(many(trials * 50) + reports + "1, 1, 'training'" + values);
  store.run(many(trials * 50) + reports + "2+i%?, 1, 'training'" + values, trials - 1);
  store.run(
      "INSERT INTO metric_names (trial_id, metric_group, name) SELECT id, 'training', name FROM "
      "trials,"
      " (SELECT 'loss' AS name UNION SELECT 'accuracy')");
  transaction.commit();
  // As those who write by and by leave it.
  store.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

fs::path make_store(int64_t trials) {
  const fs::path home =
      fs::temp_directory_path() / ("detcore-bench-lists-" + std::to_string(trials));
  if (fs::exists(home)) return home;
  const fs::path unfinished = home.string() + ".part";
  fs::remove_all(unfinished);
  {
    engine::Database store = engine::open_store(unfinished / ".detcore", true, {});
    fill(store, trials);
  }
  fs::rename(unfinished, home);
  return home;
}

struct Cost {
  double seconds = 0;
  long mib = 0;
};

// A whole process, of which somebody reads a screenful of output and then no more.
Cost first_screen(const std::vector<std::string> &command) {
  int ends[2];
  if (pipe(ends) != 0) bench::die("pipe");
  const int64_t begin = bench::now_ns();
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<char *> arguments;
    for (const std::string &argument : command)
      arguments.push_back(const_cast<char *>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  FILE *output = fdopen(ends[0], "r");
  int lines = 0;
  for (int c = 0; lines < screen && (c = getc(output)) != EOF;) lines += c == '\n' ? 1 : 0;
  fclose(output);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  const int64_t end = bench::now_ns();
  if (lines < screen) bench::die(command[0] + " " + command[1] + " printed too little");
  return {static_cast<double>(end - begin) / 1e9, usage.ru_maxrss / 1024};
}

Cost median(std::vector<Cost> costs) {
  std::sort(costs.begin(), costs.end(), [](Cost a, Cost b) { return a.seconds < b.seconds; });
  return costs[costs.size() / 2];
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) bench::die("usage: bench_lists DET [TRIALS]");
  const int64_t trials = argc > 2 ? std::stoll(argv[2]) : 100'000;
  const fs::path home = make_store(trials);
  const std::string det = argv[1], store = engine::store_path(home / ".detcore");
  struct List {
    const char *name;
    std::vector<std::string> det;
    std::string sql;
  };
  const std::string some = " LIMIT " + std::to_string(screen);
  const std::vector<List> lists{
      {"det ls",
       {"ls"},
       "SELECT trials.id, experiment_id, name, trials.state, trials.progress, last_run,"
       " best_metric FROM trials JOIN experiments ON experiments.id=experiment_id"
       " ORDER BY trials.id DESC" +
           some},
      {"det ls -e",
       {"ls", "-e"},
       "SELECT id, name, state, progress FROM experiments ORDER BY id DESC" + some},
      {"det trials 1",
       {"trials", "1"},
       "SELECT id, best_metric, hparams, state FROM trials WHERE experiment_id=1"
       " ORDER BY best_order, id" +
           some},
      {"det metrics 1",
       {"metrics", "1"},
       "SELECT metric_group, steps, metrics FROM metrics INDEXED BY metrics_by_trial"
       " WHERE trial_id=1 ORDER BY id" +
           some}};
  bool kept = true;
  for (const List &list : lists) {
    std::vector<std::string> command{det, "-m", home};
    command.insert(command.end(), list.det.begin(), list.det.end());
    const std::vector<std::string> rival{"sqlite3", "-readonly", store, list.sql};
    std::vector<Cost> ours, theirs;
    for (int round = 0; round <= rounds; ++round) {
      ours.push_back(first_screen(command));
      theirs.push_back(first_screen(rival));
      if (round > 0) continue;
      ours.clear();  // its pages are in memory now
      theirs.clear();
    }
    const Cost mine = median(ours), other = median(theirs);
    kept = kept && mine.seconds <= budget;
    const std::string name =
        std::string(list.name) + ", first screen at " + std::to_string(trials) + " trials";
    bench_row(name.c_str(), mine.seconds, "sqlite3 with the very query", other.seconds, "s", 0);
    std::printf("%s takes %ld MiB, sqlite3 %ld\n", list.name, mine.mib, other.mib);
  }
  std::printf("every first screen within %.0f ms: %s\n", budget * 1e3, kept ? "yes" : "no");
  return kept ? 0 : 1;
}
