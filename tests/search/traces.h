// Configurations for searches that are told by hand, and what is expected of them.
#pragma once

#include <cmath>

#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/search/driver.h"

namespace det::search {

inline void expect(const std::string &answer, const char *expected) {
  assert_string_equal(answer.c_str(), expected);
}

inline void expect_near(double value, double expected) {
  if (!(std::fabs(value - expected) <= 1e-4)) print_error("%g, not %g\n", value, expected);
  assert_true(std::fabs(value - expected) <= 1e-4);
}

inline Json config(Json searcher, Json hyperparameters = Json::object()) {
  searcher["metric"] = "loss";
  return {{"searcher", std::move(searcher)},
          {"hyperparameters", std::move(hyperparameters)},
          {"reproducibility", {{"experiment_seed", 0}}}};
}

inline Json random_of(uint64_t trials, uint64_t concurrent) {
  return config({{"name", "random"},
                 {"max_trials", trials},
                 {"max_concurrent_trials", concurrent},
                 {"max_length", {{"batches", 10}}}});
}

inline Json asha(uint64_t rungs, double divisor, uint64_t length, uint64_t trials,
                 uint64_t concurrent, bool smaller_is_better = true, bool stop_once = false) {
  return config({{"name", "async_halving"},
                 {"num_rungs", rungs},
                 {"divisor", divisor},
                 {"max_length", {{"batches", length}}},
                 {"max_trials", trials},
                 {"max_concurrent_trials", concurrent},
                 {"smaller_is_better", smaller_is_better},
                 {"stop_once", stop_once}});
}

// Creates the trials that have been decided on, as their processes would be.
inline void create(Driver &driver, size_t first, size_t last) {
  for (size_t trial = first; trial <= last; ++trial) driver.created(trial);
}

}  // namespace det::search
