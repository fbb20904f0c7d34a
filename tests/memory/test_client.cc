// Allocations that fail in what reads: of a store, of a master, and of configurations.
#include "tests/memory/sweep.h"
#include "tests/open_store.h"
#include "tests/rest/surroundings.h"

namespace det::test {
namespace {

// With a seed: else each completion takes one of the clock.
constexpr const char *grid_search = R"({
  "name": "searched", "entrypoint": "./train", "reproducibility": {"experiment_seed": 7},
  "searcher": {"name": "grid", "metric": "loss", "max_length": {"batches": 3}},
  "hyperparameters": {"rate": {"type": "double", "minval": 0, "maxval": 1, "count": 3},
                      "a constant with a name": "its value"}})";

// A run with one of everything; gives its trial.
int64_t fill(const char *store) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = store;
  options.config_json = R"({"searcher": {"name": "single", "metric": "loss", "max_length": 3}})";
  det_core *core = nullptr;
  det_error error = DET_ERROR_INIT;
  if (det_core_init(&options, &core, &error) != DET_OK) fail_msg("%s", error.message);
  const det_metric metric{"loss", 0.5};
  det_train_context *train = det_core_train(core);
  assert_int_equal(det_train_report_validation_metrics(train, 1, &metric, 1, nullptr), DET_OK);
  assert_int_equal(det_train_log(train, DET_LOG_LEVEL_INFO, "a line", nullptr), DET_OK);
  det_checkpoint_writer *checkpoint = nullptr;
  assert_int_equal(
      det_checkpoint_writer_begin(det_core_checkpoint(core), R"({"steps_completed": 1})", nullptr,
                                  &checkpoint, nullptr),
      DET_OK);
  assert_int_equal(det_checkpoint_writer_commit(checkpoint, nullptr), DET_OK);
  det_checkpoint_writer_free(checkpoint);
  const int64_t trial = det_info_trial_id(det_core_info(core));
  assert_int_equal(det_core_close(core, DET_OUTCOME_OK, nullptr), DET_OK);
  det_core_free(core);
  return trial;
}

using Answer = std::string;

// What every query answers, each with its memory running out.
std::vector<Answer> read_all(Sweep &sweep, const char *master, int64_t experiment, int64_t trial) {
  auto *client = sweep.made<det_client>("client_open", [&](det_client **out, det_error *error) {
    return open_store(master, out, error);
  });
  std::vector<Answer> answers;
  const auto ask = [&](const char *what, const auto &query) {
    answers.push_back(
        sweep.text(what, [&](char **out, det_error *error) { return query(client, out, error); }));
    assert_string_not_equal(answers.back().c_str(), "");
  };
  ask("list_experiments", [](auto *c, char **out, det_error *error) {
    return det_client_list_experiments(c, nullptr, out, error);
  });
  ask("get_experiment", [=](auto *c, char **out, det_error *error) {
    return det_client_get_experiment(c, experiment, out, error);
  });
  ask("list_trials", [=](auto *c, char **out, det_error *error) {
    return det_client_list_trials(c, experiment, nullptr, out, error);
  });
  ask("get_trial", [=](auto *c, char **out, det_error *error) {
    return det_client_get_trial(c, trial, out, error);
  });
  ask("list_metrics", [=](auto *c, char **out, det_error *error) {
    return det_client_list_metrics(c, trial, nullptr, nullptr, out, error);
  });
  ask("list_metric_names", [=](auto *c, char **out, det_error *error) {
    return det_client_list_metric_names(c, trial, out, error);
  });
  ask("list_checkpoints", [=](auto *c, char **out, det_error *error) {
    return det_client_list_checkpoints(c, trial, nullptr, out, error);
  });
  ask("list_logs", [=](auto *c, char **out, det_error *error) {
    return det_client_list_logs(c, trial, nullptr, out, error);
  });
  ask("best_trial", [=](auto *c, char **out, det_error *error) {
    return det_client_best_trial(c, experiment, out, error);
  });
  det_client_free(client);
  return answers;
}

// Also a failure between two calls changes no answer.
template <class Read>
void assert_same_answers(const Read &read) {
  std::vector<Answer> first;
  sweep_calls([&](Sweep &sweep) {
    std::vector<Answer> answers = read(sweep);
    if (first.empty()) first = std::move(answers);
    else assert_true(answers == first);
  });
}

void queries_of_a_store_without_memory_are_answered_the_next_time(void **) {
  const Surroundings place;
  const std::string store = (place.directory / "store").string();
  const int64_t trial = fill(store.c_str());
  assert_same_answers([&](Sweep &sweep) { return read_all(sweep, store.c_str(), 1, trial); });
}

// Plays what a real master has answered.
void queries_of_a_master_without_memory_are_answered_the_next_time(void **) {
  const Surroundings place;
  write_file_durably(place.directory / "made", "");
  const PythonServer master("recorded_answers",
                            {TEST_DATA "/wire/cli-0.38.1/answers.jsonl", place.directory / "made"});
  place.as_user(master.url());
  place.set("DET_USER_TOKEN", "token");
  const std::string url = master.url();
  assert_same_answers([&](Sweep &sweep) { return read_all(sweep, url.c_str(), 1, 1); });
}

void configurations_without_memory_are_read_the_next_time(void **) {
  assert_same_answers([](Sweep &sweep) {
    return std::vector<Answer>{sweep.text("config_check",
                                          [](char **out, det_error *error) {
                                            return det_config_check(grid_search, nullptr, out,
                                                                    error);
                                          }),
                               sweep.text("config_complete", [](char **out, det_error *error) {
                                 return det_config_complete(grid_search, nullptr, out, error);
                               })};
  });
}

}  // namespace
}  // namespace det::test

int test_client() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(queries_of_a_store_without_memory_are_answered_the_next_time),
      cmocka_unit_test(queries_of_a_master_without_memory_are_answered_the_next_time),
      cmocka_unit_test(configurations_without_memory_are_read_the_next_time),
  };
  return cmocka_run_group_tests_name("client", tests, nullptr, nullptr);
}
