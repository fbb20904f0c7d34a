// Whole searches as the platform ran them: told the same, ours decides the same.
#include <cmath>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/search/driver.h"
#include "tests/search/recorded.h"

namespace det::search {

namespace {

namespace fs = std::filesystem;

// Ours differs from these on purpose: docs/search.md lists them, test_differences.cc tests them.
const std::set<std::string> different{"asha-equal-rung-lengths",
                                      "asha-infinities-float",
                                      "asha-nan-float-first",
                                      "asha-nan-float",
                                      "asha-nan-string",
                                      "asha-small-closed-only-hang",
                                      "asha-waiting-trial-killed",
                                      "asha-waiting-trial-killed-2",
                                      "asha_stop-nan-string",
                                      "grid-empty-categorical",
                                      "grid-no-hyperparameters",
                                      "v038-grid-no-hyperparameters",
                                      "v038-asha-nan-float",
                                      "v038-asha-nan-string",
                                      "v038-asha-script-out-of-order-steps",
                                      "v038-asha-script-stopped-trial-reports",
                                      "v038-asha-stop-ignored-by-trial"};

bool same_trials(const Driver &driver, const Json &run) {
  if (driver.trials().size() != run.at("trials").size()) return false;
  for (size_t i = 0; i < driver.trials().size(); ++i) {
    const CreateTrial &made = driver.trials()[i];
    const Json &expected = run.at("trials")[i];
    if (made.request_id != expected.at("request_id") ||
        made.trial_seed != expected.at("trial_seed") ||
        Json::parse(made.hparams.dump()) != expected.at("hparams"))
      return false;
  }
  return true;
}

// Where it goes another way than recorded, or nothing. Before every n-th event (0: never) it goes
// on with a new search, made from what the old one wrote down.
std::string replay(const Json &run, size_t restore_every) {
  Driver driver(config_of(run),
                run.at("version") == "0.33.0" ? SearchRules::operations : SearchRules::metrics);
  size_t told = 0;
  for (const Json &event : run.at("log")) {
    if (restore_every != 0 && told++ % restore_every == 0) {
      const Json state = driver.search().snapshot();
      driver.restore(state);
      // The names in objects are in the same order as well.
      if (driver.search().snapshot() != state) return "state before " + event.dump();
    }
    const std::string answer = tell_or_error(driver, event);
    const std::string expected = event.contains("error") ? "error" : expected_words(event);
    if (answer != expected) return event.dump() + ": " + answer;
    if (!(std::fabs(driver.progress() - event.at("progress").get<double>()) <= 1e-9))
      return event.dump() + ": progress " + std::to_string(driver.progress());
  }
  return same_trials(driver, run) ? "" : "other trials";
}

// The runs of which the platform was restored before each event.
std::set<std::string> restored_runs() {
  std::set<std::string> names;
  for (const Json vectors = read_vectors("restore.json"); const Json &run : vectors.at("restores"))
    names.insert(run.at("case").get<std::string>());
  return names;
}

void check_runs(bool restoring) {
  const std::set<std::string> restored = restored_runs();
  size_t failures = 0;
  size_t runs = 0;
  for (const auto &file : fs::directory_iterator(std::string(TEST_DATA) + "/search/runs")) {
    const std::string name = file.path().stem().string();
    if (name.starts_with("custom-") || different.contains(name)) continue;
    ++runs;
    std::string failure;
    try {
      const size_t restore_every = restored.contains(name) ? 1 : 7;
      failure = replay(read_vectors("runs/" + name + ".json"), restoring ? restore_every : 0);
    } catch (const std::exception &e) {
      failure = e.what();
    }
    if (failure.empty()) continue;
    ++failures;
    print_error("%s: %s\n", name.c_str(), failure.c_str());
  }
  assert_int_equal(failures, 0);
  assert_true(runs >= 105);
}

void searches_decide_as_recorded(void **) { check_runs(false); }

void searches_that_are_restored_on_the_way_decide_as_recorded(void **) { check_runs(true); }

void snapshots_are_those_of_the_platform(void **) {
  size_t failures = 0;
  for (const Json vectors = read_vectors("restore.json");
       const Json &restore : vectors.at("restores")) {
    const std::string name = restore.at("case").get<std::string>();
    const Json run = read_vectors("runs/" + name + ".json");
    const bool metrics = rules_of(run) == SearchRules::metrics;
    Driver driver(config_of(run), rules_of(run));
    const size_t last = restore.at("snapshot_after_event").get<size_t>();
    for (size_t i = 0; i <= last; ++i) tell(driver, run.at("log")[i]);
    std::string text = driver.search().snapshot().dump();
    // Ours keeps the closed trials under the rules of 0.38 as well.
    Json ours = Json::parse(text);
    if (metrics) {
      Json &method = ours.at("search_method_state");
      method.erase("closed_trials");
      if (method.contains("sub_search_states"))
        for (Json &bracket : method.at("sub_search_states")) bracket.erase("closed_trials");
    }
    if (ours == restore.at("snapshot")) continue;
    ++failures;
    print_error("%s: %s\n", name.c_str(),
                Json::diff(restore.at("snapshot"), ours).dump().substr(0, 2000).c_str());
  }
  assert_int_equal(failures, 0);
}

void plans_are_those_of_the_platform(void **) {
  size_t plans = 0;
  for (const auto &file : fs::directory_iterator(std::string(TEST_DATA) + "/search/runs")) {
    const Json run = read_vectors("runs/" + file.path().filename().string());
    // It plans a grid of nothing as well.
    if (!run.contains("preview") || run.at("name") == "no-hyperparameters") continue;
    ++plans;
    const auto planned = plan_search(config_of(run), rules_of(run));
    assert_int_equal(planned.size(), run.at("preview").size());
    for (size_t i = 0; i < planned.size(); ++i) {
      const Json &row = run.at("preview")[i];
      assert_equal(row.at("count"), planned[i].trials);
      assert_equal(row.value("value", Json(0)), (row.contains("value") ? planned[i].length : 0));
    }
  }
  assert_true(plans >= 15);
}

}  // namespace

}  // namespace det::search

int test_runs() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(searches_decide_as_recorded),
      cmocka_unit_test(searches_that_are_restored_on_the_way_decide_as_recorded),
      cmocka_unit_test(snapshots_are_those_of_the_platform),
      cmocka_unit_test(plans_are_those_of_the_platform),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
