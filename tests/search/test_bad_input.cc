// Configurations that make no search, events that make no sense, states that are none.
#include <cmath>
#include <limits>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"

namespace det::search {

namespace {

// Each must be refused with a message that names the field.
void expect_refusals(const std::vector<std::pair<const char *, const char *>> &cases,
                     SearchRules rules = SearchRules::operations) {
  for (const auto &[text, field] : cases) {
    const Json config = parse_json(text, "config");
    const std::string message = expect_error(Code::invalid, [&] { make_search(config, rules); });
    if (!contains(message, field)) print_error("%s: %s\n", text, message.c_str());
    assert_true(contains(message, field));
    assert_equal(message.find('\n'), std::string::npos);
  }
}

void searchers_are_refused_by_the_name_of_the_field(void **) {
  expect_refusals({
      {"[]", "searcher"},
      {"{}", "searcher is null"},
      {R"({"searcher": []})", "searcher"},
      {R"({"searcher": {}})", "searcher.name is missing"},
      {R"({"searcher": {"name": "asha"}})", "single, random, grid, async_halving"},
      {R"({"searcher": {"name": 7}})", "searcher.name"},
      {R"({"searcher": {"name": "adaptive_simple"}})", "has been removed"},
      {R"({"searcher": {"name": "adaptive"}})", "has been removed"},
      {R"({"searcher": {"name": "sync_halving"}})", "has been removed"},
      {R"({"searcher": {"name": "single"}})", "searcher.max_length is missing"},
      {R"({"searcher": {"name": "single", "max_length": -1}})", "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": 1.5}})", "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": {}}})", "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": {"batches": 1, "epochs": 1}}})",
       "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": {"batches": "many"}}})",
       "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": NaN}})", "searcher.max_length"},
      {R"({"searcher": {"name": "single", "max_length": 1, "metric": 5}})", "searcher.metric"},
      {R"({"searcher": {"name": "single", "max_length": 1, "smaller_is_better": 1}})",
       "searcher.smaller_is_better"},
      {R"({"searcher": {"name": "random", "max_length": 1}})", "searcher.max_trials is missing"},
      {R"({"searcher": {"name": "random", "max_length": 1, "max_trials": 0}})",
       "searcher.max_trials"},
      {R"({"searcher": {"name": "random", "max_length": 1, "max_trials": 1, "max_concurrent_trials": -1}})",
       "searcher.max_concurrent_trials"},
      {R"({"searcher": {"name": "async_halving", "max_length": 100, "max_trials": 4}})",
       "searcher.num_rungs is missing"},
      {R"({"searcher": {"name": "async_halving", "max_length": 0, "max_trials": 4, "num_rungs": 2}})",
       "searcher.max_length is 0"},
      {R"({"searcher": {"name": "async_halving", "max_length": 100, "max_trials": 4, "num_rungs": 1000000}})",
       "searcher.num_rungs"},
      {R"({"searcher": {"name": "async_halving", "max_length": 100, "max_trials": 4, "num_rungs": 2, "divisor": 1}})",
       "searcher.divisor"},
      {R"({"searcher": {"name": "async_halving", "max_length": 100, "max_trials": 4, "num_rungs": 2, "divisor": "4"}})",
       "searcher.divisor"},
      {R"({"searcher": {"name": "async_halving", "max_length": 3, "max_trials": 4, "num_rungs": 3}})",
       "num_rungs"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 0, "max_trials": 4}})",
       "searcher.max_length is 0"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "mode": "slow"}})",
       "aggressive, standard, conservative"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "max_rungs": 0}})",
       "searcher.max_rungs"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "bracket_rungs": 3}})",
       "searcher.bracket_rungs"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "bracket_rungs": [0]}})",
       "searcher.bracket_rungs"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "bracket_rungs": [5]}})",
       "bracket_rungs"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 9, "max_trials": 4, "stop_once": "no"}})",
       "searcher.stop_once"},
      {R"({"searcher": {"name": "single", "max_length": 1}, "reproducibility": {"experiment_seed": -1}})",
       "experiment_seed"},
      {R"({"searcher": {"name": "single", "max_length": 1}, "reproducibility": {"experiment_seed": 4294967296}})",
       "experiment_seed"},
  });
}

void more_trials_at_once_than_fit_anywhere_are_refused(void **) {
  expect_refusals({
      {R"({"searcher": {"name": "random", "max_length": 1, "max_trials": 1000001, "max_concurrent_trials": 0}})",
       "searcher.max_concurrent_trials"},
      {R"({"searcher": {"name": "adaptive_asha", "max_length": 64, "max_trials": 9007199254740992, "max_concurrent_trials": 0}})",
       "searcher.max_concurrent_trials"},
      {R"({"searcher": {"name": "grid", "max_length": 1, "max_concurrent_trials": 2000000},
           "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1, "count": 1000001}}})",
       "searcher.max_concurrent_trials"},
      {R"({"searcher": {"name": "grid", "max_length": 1},
           "hyperparameters": {"x": {"type": "double", "minval": 0, "maxval": 1, "count": 1000001}}})",
       "1000001 points"},
  });
  make_search(
      parse_json(R"({"searcher": {"name": "random", "max_length": 1, "max_trials": 1000001}})",
                 "config"),
      SearchRules::operations);
}

void metric_searches_need_a_time(void **) {
  expect_refusals(
      {
          {R"({"searcher": {"name": "async_halving", "max_trials": 4, "num_rungs": 2}})",
           "time_metric"},
          {R"({"searcher": {"name": "async_halving", "max_trials": 4, "num_rungs": 2, "time_metric": "batches"}})",
           "max_time"},
          {R"({"searcher": {"name": "adaptive_asha", "max_trials": 4, "time_metric": "batches", "max_time": 0}})",
           "max_time"},
          {R"({"searcher": {"name": "adaptive_asha", "max_trials": 4, "max_length": 100}})",
           "max_length"},
          {R"({"searcher": {"name": "custom"}})", "searcher.name"},
      },
      SearchRules::metrics);
}

void hyperparameters_are_refused_by_their_path(void **) {
  const auto with = [](const char *hyperparameters) {
    return std::string(
               R"({"searcher": {"name": "random", "max_trials": 1, "max_length": 1}, "hyperparameters": )") +
           hyperparameters + "}";
  };
  const std::pair<const char *, const char *> cases[] = {
      {"[]", "hyperparameters"},
      {R"({"a": {"type": "normal"}})", "hyperparameters.a.type"},
      {R"({"a": {"type": 5}})", "hyperparameters.a.type"},
      {R"({"a": {"type": "const"}})", "hyperparameters.a: there is no val"},
      {R"({"a": {"type": "int", "minval": 1}})", "hyperparameters.a: there is no maxval"},
      {R"({"a": {"type": "int", "minval": 2, "maxval": 2}})",
       "hyperparameters.a: minval must be less"},
      {R"({"a": {"type": "int", "minval": 0.5, "maxval": 2}})", "hyperparameters.a.minval"},
      {R"({"a": {"type": "double", "minval": "0", "maxval": 2}})", "hyperparameters.a.minval"},
      {R"({"a": {"type": "double", "minval": NaN, "maxval": 2}})", "hyperparameters.a.minval"},
      {R"({"a": {"b": {"type": "double", "minval": 3, "maxval": 2}}})",
       "hyperparameters.a.b: minval"},
      {R"({"a": {"type": "log", "minval": 1, "maxval": 2}})",
       "hyperparameters.a: there is no base"},
      {R"({"a": {"type": "log", "minval": 1, "maxval": 2, "base": 0}})", "hyperparameters.a.base"},
      {R"({"one": {"a": {"type": "categorical"}}})", "hyperparameters.one.a: there is no vals"},
      {R"({"a": {"type": "categorical", "vals": []}})", "hyperparameters.a.vals"},
      {R"({"a": {"type": "categorical", "vals": 3}})", "hyperparameters.a.vals"},
      {R"({"a": {"type": "int", "minval": 0, "maxval": 2, "count": 0}})",
       "hyperparameters.a.count"}};
  for (const auto &[hyperparameters, path] : cases)
    expect_refusals({{with(hyperparameters).c_str(), path}});
}

Json asha_config() {
  return parse_json(R"({"searcher": {"name": "async_halving", "metric": "loss", "max_length": 8,
    "num_rungs": 2, "divisor": 2, "max_trials": 4, "max_concurrent_trials": 2,
    "max_time": 8, "time_metric": "batches"}})",
                    "config");
}

void metrics_that_are_no_numbers_end_the_search(void **) {
  for (const Json &metric :
       {Json(), Json(true), Json("abc"), Json("1.5"), Json::array(), Json::object()}) {
    Driver driver(asha_config());
    driver.initial();
    driver.created(1);
    assert_true(
        contains(expect_error(Code::invalid, [&] { driver.done(1, 4, metric); }), "'loss'"));
    Driver other(asha_config(), SearchRules::metrics);
    other.initial();
    assert_true(contains(expect_error(Code::invalid,
                                      [&] {
                                        other.report(1, {{"batches", 4}, {"loss", metric}});
                                      }),
                         "'loss'"));
    assert_true(contains(expect_error(Code::invalid,
                                      [&] {
                                        other.report(1, {{"batches", metric}, {"loss", 1}});
                                      }),
                         "'batches'"));
    expect_error(Code::invalid, [&] { other.report(1, metric); });
  }
}

void metrics_mean_nothing_to_searches_that_do_not_rank(void **) {
  Driver driver(parse_json(R"({"searcher": {"name": "random", "max_trials": 2, "max_length": 0}})",
                           "config"));
  assert_string_equal(driver.initial().c_str(), "C1 V1:0 X1 C2 V2:0 X2");
  driver.created(1);
  assert_string_equal(driver.done(1, 0, "abc").c_str(), "");
  driver.closed(1);
  assert_equal(driver.progress(), 0.5);
}

void trials_the_search_did_not_make_are_refused(void **) {
  const std::string other = "11111111-1111-4111-8111-111111111111";
  for (const char *name : {"async_halving", "adaptive_asha", "random"}) {
    Json config = asha_config();
    config["searcher"]["name"] = name;
    Driver driver(config);
    driver.initial();
    Search &search = driver.search();
    expect_error(Code::invalid, [&] { search.validation_completed(other, 4, 1); });
    expect_error(Code::invalid, [&] { search.exited_early(other, ExitReason::errored); });
    expect_error(Code::invalid, [&] { search.closed(other); });
    expect_error(Code::invalid, [&] { search.trial_progress(other, 1); });
  }
}

void progress_that_is_no_number_is_ignored(void **) {
  Driver driver(parse_json(R"({"searcher": {"name": "random", "max_trials": 2, "max_length": 10}})",
                           "config"));
  driver.initial();
  driver.created(1);
  driver.created(2);
  driver.units(1, 5);
  for (const double none : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300}) driver.units(1, none);
  assert_equal(driver.progress(), 0.25);
}

void events_of_the_other_rules_decide_nothing(void **) {
  Driver lengths(asha_config());
  lengths.initial();
  assert_string_equal(lengths.report(1, {{"loss", 1}}).c_str(), "");
  Driver metrics(asha_config(), SearchRules::metrics);
  metrics.initial();
  assert_string_equal(metrics.done(1, 4, 1).c_str(), "");
}

void snapshots_that_do_not_fit_are_refused(void **) {
  Json adaptive = asha_config();
  adaptive["searcher"]["name"] = "adaptive_asha";
  for (const Json &config : {asha_config(), adaptive}) {
    Driver driver(config);
    driver.initial();
    driver.created(1);
    driver.done(1, driver.trials().empty() ? 0 : 4, 0.5);
    const Json good = driver.search().snapshot();
    expect_error(Code::corrupt, [&] { driver.restore(Json::object()); });
    for (const auto &[name, value] : good.items()) {
      Json bad = good;
      bad.erase(name);
      expect_error(Code::corrupt, [&] { driver.restore(bad); });
      bad[name] = "text";
      expect_error(Code::corrupt, [&] { driver.restore(bad); });
    }
    Json method = good.at("search_method_state");
    for (const auto &[name, value] : method.items()) {
      if (name.starts_with("search_method") || name.starts_with("sub_search_units") ||
          name == "pending_trials")
        continue;
      Json bad = good;
      bad["search_method_state"][name] = "text";
      expect_error(Code::corrupt, [&] { driver.restore(bad); });
    }
  }
  Driver driver(asha_config());
  driver.initial();
  Json bad = driver.search().snapshot();
  bad["search_method_state"]["trial_rungs"][driver.id(1)] = 7;
  expect_error(Code::corrupt, [&] { driver.restore(bad); });
}

void reasons_have_names(void **) {
  for (const ExitReason reason : {ExitReason::errored, ExitReason::user_requested_stop,
                                  ExitReason::user_canceled, ExitReason::invalid_hp})
    assert_equal(exit_reason_named(exit_reason_name(reason)), reason);
  assert_equal(exit_reason_named("INIT_INVALID_HP"), ExitReason::invalid_hp);
  assert_true(contains(expect_error(Code::invalid, [] { exit_reason_named("TIRED"); }), "TIRED"));
}

}  // namespace

}  // namespace det::search

int test_bad_input() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(searchers_are_refused_by_the_name_of_the_field),
      cmocka_unit_test(more_trials_at_once_than_fit_anywhere_are_refused),
      cmocka_unit_test(metric_searches_need_a_time),
      cmocka_unit_test(hyperparameters_are_refused_by_their_path),
      cmocka_unit_test(metrics_that_are_no_numbers_end_the_search),
      cmocka_unit_test(metrics_mean_nothing_to_searches_that_do_not_rank),
      cmocka_unit_test(trials_the_search_did_not_make_are_refused),
      cmocka_unit_test(progress_that_is_no_number_is_ignored),
      cmocka_unit_test(events_of_the_other_rules_decide_nothing),
      cmocka_unit_test(snapshots_that_do_not_fit_are_refused),
      cmocka_unit_test(reasons_have_names),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
