// Whole experiments of every method, with thousands of trials, in virtual time.
#include "tests/search/simulation.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/search/brackets.h"
#include "core/search/settings.h"
#include "tests/cmocka.h"

namespace det::search {

namespace {

const Json space{{"lr", {{"type", "log"}, {"minval", -4}, {"maxval", -1}, {"base", 10}}},
                 {"layers", {{"type", "int"}, {"minval", 1}, {"maxval", 8}}}};

Json simulated_config(Json searcher, Json hyperparameters = space) {
  searcher["metric"] = "loss";
  return {{"searcher", std::move(searcher)},
          {"hyperparameters", std::move(hyperparameters)},
          {"reproducibility", {{"experiment_seed", 11}}}};
}

struct Experiment {
  const char *name;
  Json config;
  SearchRules rules = SearchRules::operations;
};

Json asha_settings(Json more) {
  Json searcher{{"name", "async_halving"},
                {"num_rungs", 5},
                {"divisor", 3},
                {"max_length", {{"batches", 810}}},
                {"max_trials", 2000},
                {"max_concurrent_trials", 20},
                {"max_time", 810},
                {"time_metric", "batches"}};
  searcher.update(more);
  return simulated_config(searcher);
}

std::vector<Experiment> experiments() {
  const Json axis{{"type", "double"}, {"minval", 0}, {"maxval", 1}, {"count", 50}};
  const Json random{{"name", "random"}, {"max_trials", 2000}, {"max_length", 100}};
  const Json grid =
      simulated_config({{"name", "grid"}, {"max_length", 100}}, {{"x", axis}, {"y", axis}});
  const Json adaptive{{"name", "adaptive_asha"}, {"mode", "conservative"}};
  return {
      {"random", simulated_config(random)},
      {"random, all at once", simulated_config({{"name", "random"},
                                                {"max_trials", 1000},
                                                {"max_length", 100},
                                                {"max_concurrent_trials", 0}})},
      {"grid", grid},
      {"asha", asha_settings(Json::object())},
      {"asha, larger is better", asha_settings({{"smaller_is_better", false}})},
      {"asha, stopping", asha_settings({{"stop_once", true}})},
      {"adaptive_asha", asha_settings(adaptive)},
      {"adaptive_asha, stopping", asha_settings({{"name", "adaptive_asha"}, {"stop_once", true}})},
      {"random of 0.38", simulated_config(random), SearchRules::metrics},
      {"grid of 0.38", grid, SearchRules::metrics},
      {"asha of 0.38", asha_settings(Json::object()), SearchRules::metrics},
      {"adaptive_asha of 0.38", asha_settings(adaptive), SearchRules::metrics}};
}

// A number from 0 to 1 that hangs on two others alone.
double chance(uint64_t seed, uint64_t of) {
  uint64_t bits = (seed << 32U) + of;
  for (int round = 0; round < 3; ++round)
    bits = (bits ^ (bits >> 31U)) * 0x9e3779b97f4a7c15U + 0x7f4a7c15U;
  return static_cast<double>(bits >> 11U) / 9007199254740992.0;
}

World healthy(uint64_t seed) {
  World world;
  world.metric = [seed](size_t trial, uint64_t length) {
    return chance(seed, trial) + 1.0 / static_cast<double>(length + 1);
  };
  world.speed = [seed](size_t trial) { return 0.5 + chance(seed + 1, trial); };
  world.period = 30;
  world.train_until = 810;
  return world;
}

World hostile(uint64_t seed) {
  World world = healthy(seed);
  world.failure = [seed](size_t trial, size_t operation) -> std::optional<ExitReason> {
    const double fate = chance(seed + 2, trial * 100 + operation);
    if (fate < 0.03) return ExitReason::errored;
    if (fate < 0.05) return ExitReason::user_requested_stop;
    if (fate < 0.07) return ExitReason::user_canceled;
    if (fate < 0.10) return ExitReason::invalid_hp;
    return std::nullopt;
  };
  return world;
}

struct Finished {
  Experiment experiment;
  std::unique_ptr<Simulation> simulation;
};

std::vector<Finished> finish_all(const World &world) {
  std::vector<Finished> finished;
  for (const Experiment &experiment : experiments()) {
    finished.push_back(
        {experiment, std::make_unique<Simulation>(experiment.config, world, experiment.rules)});
    finished.back().simulation->run();
  }
  return finished;
}

// Each is run once, and looked at by several tests.
const std::vector<Finished> &undisturbed() {
  static const std::vector<Finished> finished = finish_all(healthy(1));
  return finished;
}
const std::vector<Finished> &disturbed() {
  static const std::vector<Finished> finished = finish_all(hostile(3));
  return finished;
}

size_t expected_trials(const Experiment &experiment, size_t invalid) {
  const Json &searcher = experiment.config.at("searcher");
  const std::string name = searcher.at("name").get<std::string>();
  if (name == "grid") return 2500;
  size_t trials = searcher.at("max_trials").get<size_t>();
  if (name == "adaptive_asha") {
    trials = 0;
    for (const Bracket &bracket : brackets(read_search_settings(searcher, experiment.rules)))
      trials += bracket.max_trials;
  }
  return trials + invalid;
}

void assert_ended_well(const Experiment &experiment, const Simulation &simulation) {
  for (const std::string &fault : simulation.faults())
    print_error("%s: %s\n", experiment.name, fault.c_str());
  assert_int_equal(simulation.faults().size(), 0);
  if (simulation.left() != 0 || simulation.ended().empty())
    print_error("%s: %zu trials are left\n", experiment.name, simulation.left());
  assert_int_equal(simulation.left(), 0);
  assert_string_equal(simulation.ended().c_str(), "end");
}

void undisturbed_experiments_end_with_all_their_trials(void **) {
  for (const auto &[experiment, simulation] : undisturbed()) {
    assert_ended_well(experiment, *simulation);
    assert_int_equal(simulation->driver().trials().size(), expected_trials(experiment, 0));
  }
}

void progress_of_undisturbed_experiments_never_falls(void **) {
  for (const auto &[experiment, simulation] : undisturbed()) {
    // It is a mean over the trials so far there.
    const std::string name = experiment.name;
    const bool is_mean = name == "random of 0.38" || name == "grid of 0.38";
    const auto &progress = simulation->progress();
    assert_equal(progress.front(), 0);
    assert_equal(progress.back(), 1);
    for (size_t i = 1; i < progress.size() && !is_mean; ++i)
      assert_true(progress[i] >= progress[i - 1] - 1e-12);
  }
}

void experiments_with_failures_end_with_all_their_trials(void **) {
  for (const auto &[experiment, simulation] : disturbed()) {
    assert_ended_well(experiment, *simulation);
    // A grid replaces no point.
    const bool is_grid = experiment.config.at("searcher").at("name") == "grid";
    assert_int_equal(simulation->driver().trials().size(),
                     expected_trials(experiment, is_grid ? 0 : simulation->invalid()));
  }
}

void experiments_end_although_trials_vanish_and_are_killed_while_they_wait(void **) {
  for (const Experiment &experiment : experiments()) {
    if (experiment.rules == SearchRules::metrics) continue;
    World world = hostile(4);
    world.silent = [](size_t trial) { return trial % 3 == 0; };
    world.killed_waiting = [](size_t trial) { return trial % 5 == 0; };
    Simulation simulation(experiment.config, world, experiment.rules);
    simulation.run();
    assert_ended_well(experiment, simulation);
  }
}

void recorded_events_lead_to_the_same_decisions(void **) {
  for (const auto &[experiment, simulation] : disturbed()) {
    Driver again(experiment.config, experiment.rules);
    for (const Told &told : simulation->record())
      assert_string_equal(tell(again, told).c_str(), told.answer.c_str());
  }
}

void searches_restored_in_the_middle_go_on_alike(void **) {
  for (const auto &[experiment, simulation] : disturbed()) {
    const auto &record = simulation->record();
    Driver again(experiment.config, experiment.rules);
    for (size_t i = 0; i < record.size(); ++i) {
      if (i == record.size() / 3 || i == record.size() / 2 || i + 10 == record.size()) {
        const Json state = again.search().snapshot();
        again.restore(state);
        assert_equal(again.search().snapshot(), state);
      }
      assert_string_equal(tell(again, record[i]).c_str(), record[i].answer.c_str());
    }
    assert_equal(again.search().snapshot(), simulation->driver().search().snapshot());
  }
}

// The lengths that each trial trained to, by the number of trials that did.
using Lengths = std::vector<uint64_t>;

Json twelve(bool stop_once, bool smaller, uint64_t concurrent = 16, uint64_t rungs = 3,
            uint64_t trials = 12) {
  return simulated_config({{"name", "async_halving"},
                           {"num_rungs", rungs},
                           {"divisor", 3},
                           {"max_length", 9000},
                           {"max_trials", trials},
                           {"max_concurrent_trials", concurrent},
                           {"smaller_is_better", smaller},
                           {"stop_once", stop_once}});
}

void expect_lengths(const Json &config, const std::vector<double> &metrics,
                    const std::map<size_t, Lengths> &expected, const Lengths &others,
                    std::optional<std::pair<size_t, size_t>> stops = std::nullopt) {
  World world;
  world.metric = [&](size_t trial, uint64_t) { return metrics.at((trial - 1) % metrics.size()); };
  world.failure = [&](size_t trial, size_t operation) -> std::optional<ExitReason> {
    if (stops == std::pair(trial, operation)) return ExitReason::user_requested_stop;
    return std::nullopt;
  };
  Simulation simulation(config, world);
  simulation.run();
  assert_string_equal(simulation.ended().c_str(), "end");
  for (size_t trial = 1; trial <= simulation.driver().trials().size(); ++trial) {
    const auto found = expected.find(trial);
    const Lengths &lengths = found == expected.end() ? others : found->second;
    if (simulation.lengths(trial) != lengths)
      print_error("trial %zu got %zu lengths\n", trial, simulation.lengths(trial).size());
    assert_equal(simulation.lengths(trial), lengths);
  }
}

const Lengths one{1000};
const Lengths two{1000, 3000};
const Lengths three{1000, 3000, 9000};

void promotion_trains_as_in_the_table(void **) {
  std::vector<double> rising, falling;
  for (int i = 1; i <= 12; ++i) {
    rising.push_back(0.01 * i);
    falling.push_back(0.13 - 0.01 * i);
  }
  const std::map<size_t, Lengths> best{{1, three}, {2, two}, {3, two}, {4, two}};
  expect_lengths(twelve(false, true), rising, best, one);
  expect_lengths(twelve(false, false), falling, best, one);
  expect_lengths(twelve(false, true), rising, best, one, std::pair(3, 1));
  expect_lengths(twelve(false, true),
                 {0.10, 0.11, 0.12, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09},
                 {{1, two}, {4, three}, {5, two}, {6, two}, {7, two}}, one, std::pair(3, 0));
  expect_lengths(twelve(false, true, 16, 1, 4), {0.05, 0.06, 0.07, 0.08}, {}, {9000});
}

void equal_metrics_fill_the_rungs_all_the_same(void **) {
  World world;
  world.metric = [](size_t, uint64_t) { return 1; };
  world.speed = [](size_t trial) { return chance(9, trial) + 0.1; };
  Simulation simulation(twelve(false, true), world);
  simulation.run();
  std::multiset<size_t> rungs;
  for (size_t trial = 1; trial <= 12; ++trial) rungs.insert(simulation.lengths(trial).size());
  assert_int_equal(rungs.count(1), 8);
  assert_int_equal(rungs.count(2), 3);
  assert_int_equal(rungs.count(3), 1);
}

void stopping_trains_as_in_the_table(void **) {
  std::vector<double> rising;
  for (int i = 1; i <= 12; ++i) rising.push_back(0.01 * i);
  const std::vector<double> cycle{0.01, 0.02, 0.03, 0.04};
  const std::map<size_t, Lengths> larger{{1, three}, {2, three},  {3, three}, {4, three},
                                         {8, three}, {12, three}, {7, two},   {11, two}};
  expect_lengths(twelve(true, true), rising, {{1, three}}, one);
  expect_lengths(twelve(true, true), cycle, {{1, three}, {5, three}, {9, three}}, one);
  expect_lengths(twelve(true, false), rising, {}, three);
  expect_lengths(twelve(true, false), cycle, larger, one);
  expect_lengths(twelve(true, true), cycle, {{1, three}, {5, two}, {9, three}}, one,
                 std::pair(5, 1));
  expect_lengths(twelve(true, false), cycle,
                 {{1, three},
                  {2, three},
                  {3, three},
                  {4, two},
                  {7, three},
                  {8, three},
                  {11, three},
                  {12, three}},
                 one, std::pair(4, 1));
  expect_lengths(twelve(true, true, 2), rising, {{1, three}}, one);
  expect_lengths(twelve(true, true, 16, 1, 4), cycle, {}, {9000});
}

void adaptive_trains_as_in_the_table(void **) {
  const auto adaptive = [](bool smaller, bool stop_once) {
    return simulated_config({{"name", "adaptive_asha"},
                             {"max_length", 900},
                             {"max_trials", 5},
                             {"divisor", 3},
                             {"max_rungs", 2},
                             {"smaller_is_better", smaller},
                             {"stop_once", stop_once}});
  };
  const std::vector<double> rising{.1, .2, .3, .4, .5};
  const std::vector<double> falling{.5, .4, .3, .2, .1};
  const std::map<size_t, Lengths> best{{1, {300, 900}}, {4, {900}}, {5, {900}}};
  expect_lengths(adaptive(true, false), rising, best, {300});
  expect_lengths(adaptive(false, false), falling, best, {300});
  expect_lengths(adaptive(true, false), rising, best, {300}, std::pair(2, 0));
  expect_lengths(adaptive(true, true), rising, best, {300});
  std::map<size_t, Lengths> all = best;
  all[3] = {300, 900};
  expect_lengths(adaptive(false, true), rising, all, {300}, std::pair(2, 0));
  all[2] = {300, 900};
  expect_lengths(adaptive(false, true), rising, all, {300});
}

void metrics_stop_all_but_the_best_where_later_trials_are_worse(void **) {
  const auto trained = [](const Json &config, uint64_t period, uint64_t until) {
    World world;
    world.metric = [](size_t trial, uint64_t) { return static_cast<double>(trial); };
    world.period = period;
    world.train_until = until;
    Simulation simulation(config, world, SearchRules::metrics);
    simulation.run();
    assert_string_equal(simulation.ended().c_str(), "end");
    std::map<size_t, uint64_t> lengths;
    for (const Told &told : simulation.record())
      if (told.kind == Told::Kind::report) lengths[told.trial] = told.length;
    std::map<uint64_t, size_t> counts;
    for (const auto &[trial, length] : lengths) ++counts[length];
    return counts;
  };
  using Counts = std::map<uint64_t, size_t>;
  assert_equal(trained(simulated_config({{"name", "async_halving"},
                                         {"num_rungs", 3},
                                         {"divisor", 3},
                                         {"max_time", 900},
                                         {"time_metric", "batches"},
                                         {"max_trials", 10},
                                         {"max_concurrent_trials", 3}}),
                       100, 900),
               (Counts{{100, 9}, {900, 1}}));
  assert_equal(trained(simulated_config({{"name", "adaptive_asha"},
                                         {"divisor", 3},
                                         {"max_time", 90},
                                         {"time_metric", "batches"},
                                         {"max_trials", 9},
                                         {"max_concurrent_trials", 3}}),
                       10, 90),
               (Counts{{10, 5}, {30, 2}, {90, 2}}));
}

}  // namespace

}  // namespace det::search

int test_simulation() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(undisturbed_experiments_end_with_all_their_trials),
      cmocka_unit_test(progress_of_undisturbed_experiments_never_falls),
      cmocka_unit_test(experiments_with_failures_end_with_all_their_trials),
      cmocka_unit_test(experiments_end_although_trials_vanish_and_are_killed_while_they_wait),
      cmocka_unit_test(recorded_events_lead_to_the_same_decisions),
      cmocka_unit_test(searches_restored_in_the_middle_go_on_alike),
      cmocka_unit_test(promotion_trains_as_in_the_table),
      cmocka_unit_test(equal_metrics_fill_the_rungs_all_the_same),
      cmocka_unit_test(stopping_trains_as_in_the_table),
      cmocka_unit_test(adaptive_trains_as_in_the_table),
      cmocka_unit_test(metrics_stop_all_but_the_best_where_later_trials_are_worse),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
