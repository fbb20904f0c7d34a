// The rules that trial layers share: sizes and order of batches, and what follows from validations.
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/search/random.h"
#include "core/trial/rules/batch_sampler.h"
#include "core/trial/rules/batch_sizes.h"
#include "core/trial/rules/validation_rules.h"
#include "core/trial/workloads/offline_environment.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det::trial;
using det::Code;
using det::contains;
using det::expect_error;
using det::Json;
using det::parse_json;

template <class Action>
void assert_refused(const char *part, const Action &action) {
  assert_true(contains(expect_error(Code::invalid, action), part));
}

void batches_are_divided_among_slots(void **) {
  const struct {
    const char *hparams;
    int64_t slots, slot, all;
    bool warns;
  } right[] = {
      {R"({"global_batch_size": 8})", 4, 2, 8, false},
      {R"({"global_batch_size": 10})", 4, 2, 8, true},
      {R"({"global_batch_size": 3})", 0, 3, 3, false},
      {R"({"global_batch_size": true})", 1, 1, 1, false},
      {R"({"global_batch_size": 4})", 4, 1, 4, false},
  };
  for (const auto &one : right) {
    const BatchSizes sizes = divide_batch(parse_json(one.hparams, "hparams"), one.slots, "a trial");
    assert_int_equal(sizes.per_slot, one.slot);
    assert_int_equal(sizes.global, one.all);
    assert_int_equal(!sizes.warning.empty(), one.warns);
  }
  const char *wrong[][2] = {
      {"{}", "required"},
      {R"({"global_batch_size": 2.5})", "float"},
      {R"({"global_batch_size": "8"})", "string"},
      {R"({"global_batch_size": null})", "null"},
      {R"({"global_batch_size": 3})", "4 slots"},
      {R"({"global_batch_size": -3})", "-3"},
      {R"({"global_batch_size": 18446744073709551615})", "4 slots"},
  };
  for (const auto &[hparams, part] : wrong) {
    const Json parsed = parse_json(hparams, "hparams");
    assert_refused(part, [&] { (void)divide_batch(parsed, 4, "a trial"); });
  }
}

void an_environment_is_made_of_a_configuration(void **) {
  const Json config = parse_json(R"({"resources": {"slots_per_trial": 8},
      "reproducibility": {"experiment_seed": 7}, "scheduling_unit": 2,
      "hyperparameters": {"a": {"b": {"type": "categorical", "vals": [[1]]}}}})",
                                 "config");
  const Json made = offline_environment(config, {}, 3);
  assert_true(made.at("experiment_config").at("resources").at("slots_per_trial") == 1);
  assert_true(made.at("experiment_config").at("scheduling_unit") == 2);
  assert_true(made.at("trial_seed") == 7);
  assert_true(made.at("hparams") == parse_json(R"({"a": {"b": [1]}})", "hparams"));
  const Json wrong = parse_json(R"({"hyperparameters": {"a": {"type": "?"}}})", "config");
  assert_refused("hyperparameters.a", [&] { (void)offline_environment(wrong, {}, 0); });
}

// "0369,258" of epochs of single digits.
std::string epochs_of(Sampler &sampler, int count) {
  std::string text;
  for (int epoch = 0; epoch < count; ++epoch) {
    if (epoch > 0) text += ",";
    while (const std::optional<int64_t> index = sampler.next()) text += std::to_string(*index);
  }
  return text;
}

void orders_are_those_of_numpy(void **) {
  std::vector<int64_t> indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  det::search::RandomState(0).shuffle(indices);
  assert_true(indices == (std::vector<int64_t>{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}));
  Sampler sampler({.length = 10, .shuffle = true, .seed = 777});
  assert_string_equal(epochs_of(sampler, 2).c_str(), "2083451967,4170325896");
}

void shards_rotate_where_an_epoch_does_not_divide(void **) {
  Sampler sampler({.length = 10, .shards = 3});
  assert_string_equal(epochs_of(sampler, 4).c_str(), "0369,258,147,0369");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  const struct {
    int64_t length, shard, shards, skip;
  } wrong[] = {{2, 0, 3, 0},   {10, 3, 3, 0},        {10, -1, 3, 0}, {10, 0, 0, 0},
               {10, 0, 3, -1}, {10, 0, 3, most / 2}, {0, 0, 1, 0},   {-most - 1, 0, 1, 0}};
  for (const auto &one : wrong)
    assert_refused("sampler", [&] {
      Sampler({.length = one.length, .shard = one.shard, .shards = one.shards, .skip = one.skip});
    });
}

void early_stopping_waits_from_its_start_on(void **) {
  EarlyStopping rule({.monitor = "val_accuracy", .patience = 2, .start_from = 1});
  const struct {
    double value;
    bool stop, improved;
  } steps[] = {{9, false, false}, {5, false, true},  {std::nan(""), false, false},
               {6, false, true},  {6, false, false}, {5, true, false}};
  for (const auto &step : steps) {
    const auto [stop, improved] = rule.update(step.value);
    assert_int_equal(stop, step.stop);
    assert_int_equal(improved, step.improved);
  }
  assert_refused("best", [&] { rule.load_state({{"best", "x"}}); });
  assert_refused("wait", [&] { rule.load_state({{"best", 1}, {"wait", -1}}); });
  assert_true(rule.state().at("best") == 6.0);
}

// One that misses the baseline at once has waited long enough, and is still no reason to stop.
void the_first_validation_stops_nothing(void **) {
  EarlyStopping rule({.monitor = "val_loss", .patience = 0, .baseline = 0.5});
  assert_false(rule.update(2.0).stop);
  assert_int_equal(rule.state().at("wait").get<int64_t>(), 1);
  assert_int_equal(rule.state().at("stopped_epoch").get<int64_t>(), 0);
  assert_true(rule.update(2.0).stop);
  assert_int_equal(rule.state().at("stopped_epoch").get<int64_t>(), 1);
}

void a_plateau_lowers_the_rate_no_further_than_it_may(void **) {
  Plateau rule({.monitor = "val_loss",
                .factor = 0.5,
                .min_learning_rate = 0.2,
                .patience = 1,
                .cooldown = 2});
  const std::optional<double> same = 1, none;
  double rate = 0.5;
  const struct {
    std::optional<double> value;
    double rate;
  } steps[] = {{same, 0.5}, {same, 0.25}, {none, 0.25}, {same, 0.25},
               {same, 0.2}, {same, 0.2},  {same, 0.2}};
  for (const auto &step : steps) {
    rate = rule.update(step.value, rate).learning_rate;
    assert_true(rate == step.rate);
  }
  assert_refused("factor", [] { Plateau({.monitor = "val_loss", .factor = 1}); });
}

// A framework keeps rates as floats: 0.1 comes back as a little more, and is the least one still.
void the_least_rate_is_not_above_itself(void **) {
  const auto kept = static_cast<double>(0.1F);
  assert_true(kept > 0.1);
  Plateau rule({.monitor = "val_loss", .min_learning_rate = 0.1, .patience = 1, .cooldown = 5});
  for (int i = 0; i < 4; ++i) assert_true(rule.update(1.0, kept).learning_rate == kept);
  assert_int_equal(rule.state().at("cooldown_counter").get<int64_t>(), 0);
  assert_int_equal(rule.state().at("wait").get<int64_t>(), 3);
}

}  // namespace

int test_rules() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(batches_are_divided_among_slots),
      cmocka_unit_test(an_environment_is_made_of_a_configuration),
      cmocka_unit_test(orders_are_those_of_numpy),
      cmocka_unit_test(shards_rotate_where_an_epoch_does_not_divide),
      cmocka_unit_test(early_stopping_waits_from_its_start_on),
      cmocka_unit_test(the_first_validation_stops_nothing),
      cmocka_unit_test(a_plateau_lowers_the_rate_no_further_than_it_may),
      cmocka_unit_test(the_least_rate_is_not_above_itself),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
