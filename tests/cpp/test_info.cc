// Hyperparameters and facts.
#include <det/nlohmann_json.hpp>
#include <vector>

#include "tests/cpp/fixture.h"

namespace {

using namespace cpp_test;
using det::Code;
using det::Hparams;

Run run_of(const char *hparams) {
  det::CoreOptions options;
  options.hparams = hparams;
  options.config =
      R"({"name": "configured", "data": {"path": "/data"}, "searcher": {"name": "single", "max_length": 3}})";
  return Run(options);
}

constexpr const char *all_kinds =
    R"({"rate": 0.5, "hidden": 64, "huge": 5000000000, "nesterov": true,
  "optimizer": {"name": "adam", "betas": [0.5, 1]}, "tiny": -1, "big": 1e300})";

void each_kind_is_read_as_what_it_is(void **) {
  const Run run = run_of(all_kinds);
  const Hparams hparams = run.core.info().hparams();
  assert_equal(hparams.get<double>("rate"), 0.5);
  assert_equal(hparams.get<float>("rate"), 0.5F);
  assert_equal(hparams.get<int>("hidden"), 64);
  assert_equal(hparams.get<double>("hidden"), 64.0);
  assert_equal(hparams.get<unsigned char>("hidden"), 64);
  assert_equal(hparams.get<int64_t>("huge"), 5000000000);
  assert_true(hparams.get<bool>("nesterov"));
  assert_equal(hparams.get<std::string>("optimizer.name"), "adam");
  assert_equal(hparams.get<det::Json>("optimizer.betas").text(), "[0.5,1]");
  assert_equal(hparams.get<nlohmann::json>("optimizer")["betas"][1], 1);
  assert_equal(hparams.json().as<nlohmann::json>()["hidden"], 64);
  run.core.close();
}

void a_number_that_does_not_fit_is_refused(void **) {
  const Run run = run_of(all_kinds);
  const Hparams hparams = run.core.info().hparams();
  const auto refused = [](auto read) { expect_error(Code::invalid, read); };
  expect_part(expect_error(Code::invalid, [&] { static_cast<void>(hparams.get<int>("huge")); }),
              "'huge': 5000000000 ");
  refused([&] { static_cast<void>(hparams.get<int>("huge", 1)); });
  refused([&] { static_cast<void>(hparams.get<unsigned>("tiny")); });
  refused([&] { static_cast<void>(hparams.get<uint64_t>("tiny")); });
  refused([&] { static_cast<void>(hparams.get<uint16_t>("huge")); });
  refused([&] { static_cast<void>(hparams.get<float>("big")); });
  refused([&] { static_cast<void>(hparams.find<signed char>("huge")); });
  refused([&] { static_cast<void>(hparams.get<int>("rate")); });
  refused([&] { static_cast<void>(hparams.get<bool>("rate")); });
  refused([&] { static_cast<void>(hparams.get<std::string>("rate")); });
  refused([&] { static_cast<void>(hparams.find<int>("optimizer.name")); });
  run.core.close();
}

void what_is_not_there_is_an_error_a_fallback_or_nothing(void **) {
  const Run run = run_of(all_kinds);
  const Hparams hparams = run.core.info().hparams();
  expect_part(
      expect_error(Code::not_found, [&] { static_cast<void>(hparams.get<double>("ratte")); }),
      "hidden");
  assert_equal(hparams.get<double>("ratte", 1), 1.0);
  assert_equal(hparams.get<int>("ratte", -7), -7);
  assert_equal(hparams.get<uint64_t>("ratte", UINT64_MAX), UINT64_MAX);
  assert_equal(hparams.get<uint64_t>("hidden", UINT64_MAX), 64);
  assert_equal(hparams.get<std::string>("ratte", "sgd"), "sgd");
  assert_equal(hparams.get<std::string>("optimizer.name", "sgd"), "adam");
  assert_true(hparams.get<bool>("ratte", true));
  assert_equal(hparams.get<nlohmann::json>("ratte", nlohmann::json{1}), nlohmann::json{1});
  assert_equal(hparams.get<det::Json>("ratte", "[]").text(), "[]");
  assert_equal(hparams.find<double>("ratte"), std::nullopt);
  assert_equal(hparams.find<double>("rate"), std::optional(0.5));
  assert_equal(hparams.find<nlohmann::json>("ratte"), std::nullopt);
  run.core.close();
}

void with_a_failure_nothing_is_thrown(void **) {
  const Run run = run_of(all_kinds);
  const Hparams hparams = run.core.info().hparams();
  det::Failure failure;
  assert_equal(hparams.get<int>("ratte", failure), 0);
  assert_equal(failure.code(), Code::not_found);
  assert_equal(hparams.get<nlohmann::json>("ratte", failure), nlohmann::json());
  assert_equal(failure.code(), Code::not_found);
  assert_equal(hparams.get<int>("huge", failure), 0);
  assert_equal(failure.code(), Code::invalid);
  assert_equal(hparams.get<int>("hidden", failure), 64);
  assert_true(!failure);
  assert_equal(hparams.find<int>("ratte", failure), std::nullopt);
  assert_true(!failure);
  assert_equal(hparams.find<int>("huge", failure), std::nullopt);
  assert_equal(failure.code(), Code::invalid);
  run.core.close();
}

void the_names_are_a_range(void **) {
  const Run run = run_of(R"({"b": 1, "a": {"c": 2}})");
  const Hparams hparams = run.core.info().hparams();
  std::vector<std::string> names;
  for (const char *name : hparams) names.emplace_back(name);
  assert_equal(names.size(), 2);
  assert_equal(hparams.size(), 2);
  assert_true(names[0] == "a.c" || names[1] == "a.c");
  assert_equal(hparams[2], nullptr);
  run.core.close();
}

void the_facts_are_there(void **) {
  const Run run = run_of("{}");
  const det::Info info = run.core.info();
  assert_equal(info.experiment_id(), 1);
  assert_equal(info.trial_run_id(), 1);
  assert_equal(info.steps_completed(), 0);
  assert_true(info.trial_seed() >= 0);
  assert_false(info.on_cluster());
  assert_true(info.hparams().empty());
  assert_equal(info.config_json().as<nlohmann::json>()["name"], "configured");
  assert_equal(info.user_data_json().as<nlohmann::json>()["path"], "/data");
  assert_equal(info.json().as<nlohmann::json>()["trial_id"], 1);
  run.core.close();
}

}  // namespace

int test_info() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(each_kind_is_read_as_what_it_is),
      cmocka_unit_test(a_number_that_does_not_fit_is_refused),
      cmocka_unit_test(what_is_not_there_is_an_error_a_fallback_or_nothing),
      cmocka_unit_test(with_a_failure_nothing_is_thrown),
      cmocka_unit_test(the_names_are_a_range),
      cmocka_unit_test(the_facts_are_there),
  };
  return cmocka_run_group_tests_name("info", tests, nullptr, nullptr);
}
