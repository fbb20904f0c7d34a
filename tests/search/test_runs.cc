// Whole searches as the platform ran them: told the same, ours decides the same.
#include <cmath>
#include <filesystem>
#include <set>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/search/driver.h"

namespace det {

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

Json config_of(const Json &run) {
  return {{"searcher", run.at("searcher")},
          {"hyperparameters", run.at("hyperparameters")},
          {"reproducibility", {{"experiment_seed", run.at("seed")}}}};
}

std::string word_of(const Json &op) {
  const std::string kind = op.at("op").get<std::string>();
  if (kind == "shutdown")
    return std::string("end") + (op.at("failure") == true ? " failure" : "") +
           (op.at("cancel") == true ? " cancel" : "");
  const std::string trial = op.at("trial").dump();
  if (kind == "create") return "C" + trial;
  if (kind == "validate_after") return "V" + trial + ":" + op.at("length").dump();
  return (kind == "close" ? "X" : "S") + trial;
}

std::string expected_words(const Json &event) {
  std::string words;
  for (const Json &op : event.at("ops")) words += (words.empty() ? "" : " ") + word_of(op);
  return words;
}

// {"float": "NaN"} stands for the number.
Json metric_of(const Json &written) {
  if (written.is_object() && written.contains("float"))
    return parse_json(written.at("float").get<std::string>(), "float");
  Json value = written;
  if (value.is_object())
    for (Json &child : value) child = metric_of(child);
  return value;
}

std::string tell(Driver &driver, const Json &event) {
  const std::string kind = event.at("event").get<std::string>();
  if (kind == "initial") return driver.initial();
  const size_t trial = event.at("trial").get<size_t>();
  if (kind == "created") return driver.created(trial);
  if (kind == "validation_completed")
    return driver.done(trial, event.at("length").get<uint64_t>(), metric_of(event.at("metric")));
  if (kind == "validation") return driver.report(trial, metric_of(event.at("metrics")));
  if (kind == "exited_early")
    return driver.exit(trial, exit_reason_named(event.at("reason").get<std::string>()));
  if (kind == "closed" || kind == "exited") return driver.closed(trial);
  driver.units(trial,
               (event.contains("units") ? event.at("units") : event.at("fraction")).get<double>());
  return "";
}

std::string tell_or_error(Driver &driver, const Json &event) {
  try {
    return tell(driver, event);
  } catch (const Error &e) {
    return e.code == Code::invalid ? "error" : e.what();
  }
}

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

// Where it goes another way than recorded, or nothing. With `restoring`, from a search that is new
// before each event.
std::string replay(const Json &run, bool restoring) {
  Driver driver(config_of(run),
                run.at("version") == "0.33.0" ? SearchRules::operations : SearchRules::metrics);
  for (const Json &event : run.at("log")) {
    if (restoring) {
      const Json state = driver.search().snapshot();
      driver.restore(state);
      if (driver.search().snapshot().dump() != state.dump()) return "state before " + event.dump();
    }
    const std::string answer = tell_or_error(driver, event);
    const std::string expected = event.contains("error") ? "error" : expected_words(event);
    if (answer != expected) return event.dump() + ": " + answer;
    if (!(std::fabs(driver.progress() - event.at("progress").get<double>()) <= 1e-9))
      return event.dump() + ": progress " + std::to_string(driver.progress());
  }
  return same_trials(driver, run) ? "" : "other trials";
}

void check_runs(bool restoring) {
  size_t failures = 0;
  size_t runs = 0;
  for (const auto &file : fs::directory_iterator(std::string(TEST_DATA) + "/search/runs")) {
    const std::string name = file.path().stem().string();
    if (name.starts_with("custom-") || different.contains(name)) continue;
    ++runs;
    std::string failure;
    try {
      failure = replay(read_vectors("runs/" + name + ".json"), restoring);
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

void searches_that_are_restored_before_each_event_decide_as_recorded(void **) { check_runs(true); }

void snapshots_are_those_of_the_platform(void **) {
  size_t failures = 0;
  for (const Json &restore : read_vectors("restore.json").at("restores")) {
    const std::string name = restore.at("case").get<std::string>();
    const Json run = read_vectors("runs/" + name + ".json");
    const bool metrics = run.at("version") != "0.33.0";
    Driver driver(config_of(run), metrics ? SearchRules::metrics : SearchRules::operations);
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

}  // namespace

}  // namespace det

int main() {
  using namespace det;
  const CMUnitTest tests[] = {
      cmocka_unit_test(searches_decide_as_recorded),
      cmocka_unit_test(searches_that_are_restored_before_each_event_decide_as_recorded),
      cmocka_unit_test(snapshots_are_those_of_the_platform),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
