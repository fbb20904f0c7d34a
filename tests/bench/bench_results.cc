// What it costs to ask for the best trial and for a page of the best ones, with 100,000 trials
// against 100.
#include <cstdio>
#include <map>

#include "core/base/json.h"
#include "core/client/client.h"
#include "core/engine/runs/best_validation.h"
#include "core/engine/store.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;

// Trials of one experiment, in an order that has nothing to do with their metric.
void fill(engine::Database &store, int64_t count) {
  engine::Transaction transaction(store, engine::Durability::relaxed);
  store.run("INSERT INTO experiments (name, state, config, created) VALUES ('e', 'ACTIVE', ?, 1)",
            R"({"searcher":{"name":"random","metric":"loss"}})");
  for (int64_t i = 1; i <= count; ++i) {
    store.run(
        "INSERT INTO trials (experiment_id, state, hparams, seed, task_id, created, ended)"
        " VALUES (1, 'COMPLETED', '{\"lr\":0.5}', 1, 't', 1, 2)");
    store.run(
        "INSERT INTO metrics (trial_id, run_id, metric_group, steps, time, metrics)"
        " VALUES (?, 1, 'validation', 10, 1, '{}')",
        i);
    engine::BestValidations best(store);
    best.begin(i);
    best.add(store.last_id(), static_cast<double>(i * 7919 % 1'000'003) / 1'000'003);
  }
  transaction.commit();
}

// Medians in nanoseconds.
std::map<std::string, int64_t> measure_with(int64_t trials) {
  const TemporaryDirectory home;
  engine::Database store = engine::open_store(home / ".detcore", true, {});
  const int64_t begin = bench::now_ns();
  fill(store, trials);
  const int64_t filled = bench::now_ns();
  const auto client = client::open_client(home.path().string());
  std::printf("%lld trials, ns: %34s %9s %11s\n", static_cast<long long>(trials), "median", "p99",
              "max");
  std::map<std::string, int64_t> medians;
  const auto measure = [&](const char *name, const auto &ask) {
    const bench::Distribution times = bench::measure(200, 0, [&](size_t) { ask(); });
    bench::print(name, times);
    medians[name] = times.median;
  };
  measure("best validation of the experiment", [&] { engine::best_validation(store, 1); });
  measure("best trial with all about it", [&] { client::best_trial(*client, 1); });
  engine::Page page{0, 20, false, true};
  measure("20 best trials", [&] { client->list_trials(1, page); });
  page.after = client->list_trials(1, {0, trials / 2, false, true}).at("next").get<int64_t>();
  measure("20 trials from the middle", [&] { client->list_trials(1, page); });
  std::printf("  a trial with its validation took %lld ns to store\n",
              static_cast<long long>((filled - begin) / trials));
  return medians;
}

}  // namespace

int main() {
  const std::map<std::string, int64_t> few = measure_with(100);
  for (const auto &[name, median] : measure_with(100'000))
    bench_row((name + ", 100,000 trials").c_str(), static_cast<double>(median) / 1e9, "100 trials",
              static_cast<double>(few.at(name)) / 1e9, "s", 2);
  return 0;
}
