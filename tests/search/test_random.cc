// Random numbers, samples and grids against recorded ones.
#include <cmath>
#include <set>

#include "core/search/grid.h"
#include "core/search/hyperparameters.h"
#include "core/search/random.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"

namespace det::search {

namespace {

std::string hex(const std::vector<unsigned char> &bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4U];
    text += "0123456789abcdef"[byte & 15U];
  }
  return text;
}

// Powers differ in their last bits from one mathematics library to another.
bool is_near(const Json &ours, const Json &recorded) {
  if (ours.is_number_float() && recorded.is_number()) {
    const auto expected = recorded.get<double>();
    return std::fabs(ours.get<double>() - expected) <= 1e-12 * std::fabs(expected);
  }
  if (!ours.is_object() || !recorded.is_object()) return ours == recorded;
  if (ours.size() != recorded.size()) return false;
  for (const auto &[name, value] : ours.items())
    if (!recorded.contains(name) || !is_near(value, recorded.at(name))) return false;
  return true;
}

// Everything but powers is the same to the last bit. Names may be in another order.
bool is_same(const Json &ours, const Json &recorded, const Json &space) {
  if (space.dump().find("\"log\"") != std::string::npos) return is_near(ours, recorded);
  return nlohmann::json::parse(ours.dump()) == nlohmann::json::parse(recorded.dump());
}

void assert_same(const Json &ours, const Json &recorded, const std::string &what) {
  if (ours != recorded)
    print_error("%s: %s, not %s\n", what.c_str(), ours.dump().c_str(), recorded.dump().c_str());
  assert_equal(ours, recorded);
}

// The next value of a kind of draw. Texts stand for numbers that a double cannot hold.
Json draw(RandomState &random, const std::string &kind, const Json &of) {
  if (kind == "u32") return random.u32();
  if (kind == "u64") return std::to_string(random.u64());
  if (kind == "unit") return random.unit();
  if (kind == "uniform") return random.uniform(of.at("lo"), of.at("hi"));
  if (kind == "intn") {
    const Json &n = of.at("n");
    return random.below(n.is_string() ? std::stoull(n.get<std::string>()) : n.get<uint64_t>());
  }
  if (kind == "int_range") {
    const auto low = of.at("lo").get<int64_t>();
    const auto high = of.at("hi_exclusive").get<int64_t>();
    return low + static_cast<int64_t>(random.below(static_cast<uint64_t>(high - low)));
  }
  if (kind == "bytes") return hex(random.bytes(of.at("n").get<size_t>()));
  if (kind == "request_id") return random.request_id();
  return random.trial_seed();
}

void check_stream(uint32_t seed, const std::string &kind, const Json &stream) {
  const bool described = stream.is_object();
  const Json &values = !described ? stream : stream.at(kind == "bytes" ? "hex" : "values");
  RandomState random(seed);
  for (const Json &value : values) {
    Json ours = draw(random, kind, stream);
    // Large ones are recorded as texts.
    if (value.is_string() && ours.is_number()) ours = ours.dump();
    assert_same(ours, value, kind + " of seed " + std::to_string(seed));
  }
  if (described && stream.contains("next_u32"))
    assert_same(random.u32(), stream.at("next_u32"), "the word after " + kind);
}

void draws_are_those_of_the_platform(void **) {
  for (const Json vectors = read_vectors("sampling.json");
       const Json &recorded : vectors.at("rng")) {
    const auto seed = recorded.at("seed").get<uint32_t>();
    for (const auto &[kind, streams] : recorded.at("streams").items()) {
      if (kind == "u32_at_index") {
        RandomState random(seed);
        size_t drawn = 0;
        for (const Json &at : streams) {
          for (; drawn < at[0].get<size_t>(); ++drawn) random.u32();
          assert_same(random.u32(), at[1], kind);
          ++drawn;
        }
      } else if (streams.front().is_object()) {
        for (const Json &stream : streams) check_stream(seed, kind, stream);
      } else {
        check_stream(seed, kind, streams);
      }
    }
  }
}

void draws_of_all_kinds_take_their_words_from_one_stream(void **) {
  for (const Json vectors = read_vectors("sampling.json");
       const Json &recorded : vectors.at("rng")) {
    RandomState random(recorded.at("seed").get<uint32_t>());
    for (const Json &next : recorded.at("interleaved"))
      assert_same(draw(random, next.at("draw").get<std::string>(), next), next.at("value"),
                  next.dump());
    assert_same(random.snapshot().at("pos"), recorded.at("position_after_interleaved"), "position");
  }
}

void generator_goes_on_from_its_snapshot(void **) {
  RandomState random(7);
  for (int i = 0; i < 1000; ++i) random.u32();
  RandomState other(8);
  other.restore(random.snapshot());
  for (int i = 0; i < 1000; ++i) assert_equal(random.u32(), other.u32());
}

void draws_of_the_only_choice_take_no_word(void **) {
  RandomState random(0);
  assert_int_equal(random.bounded(0), 0);
  sample(read_hyperparameters({{"a", {{"type", "categorical"}, {"vals", {1}}}}}), random);
  assert_int_equal(random.u32(), 2357136044);
}

Json random_config(const Json &hyperparameters, uint32_t seed) {
  return {
      {"searcher",
       {{"name", "random"}, {"max_trials", 20}, {"max_length", 1}, {"max_concurrent_trials", 0}}},
      {"hyperparameters", hyperparameters},
      {"reproducibility", {{"experiment_seed", seed}}}};
}

bool is_same_trial(const CreateTrial &ours, const Json &recorded, const Json &space) {
  return ours.request_id == recorded.at("request_id") &&
         ours.trial_seed == recorded.at("trial_seed") &&
         is_same(Json::parse(ours.hparams.dump()), recorded.at("hparams"), space);
}

void samples_are_those_of_the_platform(void **) {
  for (const Json vectors = read_vectors("sampling.json");
       const Json &recorded : vectors.at("samples")) {
    const Json &space = recorded.at("hyperparameters");
    Driver driver(random_config(space, recorded.at("seed")));
    driver.initial();
    assert_int_equal(driver.trials().size(), recorded.at("creates").size());
    for (size_t i = 0; i < driver.trials().size(); ++i)
      if (!is_same_trial(driver.trials()[i], recorded.at("creates")[i], space))
        fail_msg("%s: trial %zu", recorded.at("name").get<std::string>().c_str(), i + 1);
    RandomState random(0);
    random.restore(driver.search().snapshot().at("rand"));
    assert_same(random.u32(), recorded.at("next_u32"), recorded.at("name").get<std::string>());
  }
}

void nested_names_are_sampled_in_ascending_order(void **) {
  for (const Json vectors = read_vectors("sampling.json");
       const Json &recorded : vectors.at("nested_random_order")) {
    const Json &space = recorded.at("hyperparameters");
    Driver driver(random_config(space, recorded.at("seed")));
    driver.initial();
    assert_true(is_same_trial(driver.trials()[0], recorded.at("ascending_order_create"), space));
  }
}

void integers_reach_both_ends_and_doubles_not_the_upper_one(void **) {
  RandomState random(1);
  const auto space =
      read_hyperparameters({{"d", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}},
                            {"i", {{"type", "int"}, {"minval", -3}, {"maxval", 3}}}});
  std::set<int64_t> seen;
  for (int n = 0; n < 10000; ++n) {
    const Json drawn = sample(space, random);
    seen.insert(drawn.at("i").get<int64_t>());
    assert_true(drawn.at("d").get<double>() >= 0 && drawn.at("d").get<double>() < 1);
  }
  assert_equal(seen, (std::set<int64_t>{-3, -2, -1, 0, 1, 2, 3}));
}

void constants_change_no_request_id_and_ranges_change_all(void **) {
  const auto ids = [](const Json &hyperparameters) {
    Driver driver(random_config(hyperparameters, 3));
    driver.initial();
    std::vector<std::string> ids;
    for (const CreateTrial &trial : driver.trials()) ids.push_back(trial.request_id);
    return ids;
  };
  const Json range{{"type", "double"}, {"minval", 0}, {"maxval", 1}};
  const auto before = ids({{"x", range}});
  assert_equal(ids({{"x", range}, {"c", 5}, {"d", {{"type", "const"}, {"val", {1, 2}}}}}), before);
  const auto after = ids({{"x", range}, {"y", range}});
  for (size_t i = 0; i < before.size(); ++i) assert_true(after[i] != before[i]);
}

void check_grid(const Json &recorded, Grid::EmptyGroups empty_groups) {
  const std::string name = recorded.at("name").get<std::string>();
  const Json &space = recorded.at("hyperparameters");
  const auto make = [&] { return Grid(read_hyperparameters(space), empty_groups); };
  if (recorded.at("ok") == false) {
    // What is wrong inside a list only the configuration knows, where constants are still short.
    if (name == "err_list_no_count") return;
    const std::string path = recorded.at("errors")[0].at("path").get<std::string>().substr(1);
    assert_true(contains(expect_error(Code::invalid, make), path));
    return;
  }
  if (recorded.at("points").empty()) {
    expect_error(Code::invalid, make);
    return;
  }
  const Grid grid = make();
  assert_int_equal(grid.size(), recorded.at("points").size());
  for (uint64_t i = 0; i < grid.size(); ++i)
    if (!is_same(Json::parse(grid.point(i).dump()), recorded.at("points")[i], space))
      fail_msg("%s: point %zu is %s", name.c_str(), static_cast<size_t>(i),
               grid.point(i).dump().c_str());
}

void grids_are_those_of_the_platform(void **) {
  for (const Json vectors = read_vectors("grid.json"); const Json &recorded : vectors.at("grids"))
    for (const Json &version : recorded.at("versions"))
      check_grid(recorded,
                 version == "0.33.0" ? Grid::EmptyGroups::left_out : Grid::EmptyGroups::kept);
}

void groups_with_nothing_but_empty_groups_vanish_with_them(void **) {
  const auto space = [] {
    return read_hyperparameters({{"a", {{"b", Json::object()}}}, {"c", 1}});
  };
  assert_string_equal(Grid(space(), Grid::EmptyGroups::left_out).point(0).dump().c_str(),
                      R"({"c":1})");
  assert_string_equal(Grid(space(), Grid::EmptyGroups::kept).point(0).dump().c_str(),
                      R"({"a":{"b":{}},"c":1})");
}

void grids_too_large_to_count_are_refused(void **) {
  Json space;
  for (const char *name : {"a", "b", "c", "d", "e", "f"})
    space[name] = {{"type", "double"}, {"minval", 0}, {"maxval", 1}, {"count", 1000000}};
  expect_error(Code::invalid, [&] { Grid(read_hyperparameters(space), Grid::EmptyGroups::kept); });
}

}  // namespace

}  // namespace det::search

int test_random() {
  using namespace det::search;
  const CMUnitTest tests[] = {
      cmocka_unit_test(draws_are_those_of_the_platform),
      cmocka_unit_test(draws_of_all_kinds_take_their_words_from_one_stream),
      cmocka_unit_test(generator_goes_on_from_its_snapshot),
      cmocka_unit_test(draws_of_the_only_choice_take_no_word),
      cmocka_unit_test(samples_are_those_of_the_platform),
      cmocka_unit_test(nested_names_are_sampled_in_ascending_order),
      cmocka_unit_test(integers_reach_both_ends_and_doubles_not_the_upper_one),
      cmocka_unit_test(constants_change_no_request_id_and_ranges_change_all),
      cmocka_unit_test(grids_are_those_of_the_platform),
      cmocka_unit_test(groups_with_nothing_but_empty_groups_vanish_with_them),
      cmocka_unit_test(grids_too_large_to_count_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
