// Allocations that fail in a trial with a master of its own.
#include "core/base/json.h"
#include "tests/memory/life.h"
#include "tests/open_store.h"
#include "tests/temporary_directory.h"

namespace det::test {
namespace {

constexpr const char *single_search = R"({
  "name": "short of memory",
  "searcher": {"name": "single", "metric": "loss", "max_length": 3},
  "hyperparameters": {"optimizer": {"name": "one with a long name"}}})";

det_core_options embedded_options(const std::filesystem::path &home) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = home.c_str();
  options.external_id = "the one trial";
  options.config_json = single_search;
  options.tensorboard_mode = DET_TENSORBOARD_MODE_MANUAL;
  options.log_level = DET_LOG_LEVEL_DEBUG;
  return options;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path &home) {
    det_error error = DET_ERROR_INIT;
    if (open_store(home.c_str(), &client_, &error) != DET_OK) fail_msg("%s", error.message);
  }
  ~Reader() { det_client_free(client_); }

  template <class Call>
  Json read(const Call &call) const {
    char *answer = nullptr;
    det_error error = DET_ERROR_INIT;
    if (call(client_, &answer, &error) != DET_OK) fail_msg("%s", error.message);
    Json json = Json::parse(answer);
    det_free(answer);
    return json;
  }

 private:
  det_client *client_ = nullptr;
};

void assert_stored(const std::filesystem::path &home, const Life &life) {
  const Reader reader(home);
  const Json experiments = reader.read([](det_client *client, char **out, det_error *error) {
    return det_client_list_experiments(client, nullptr, out, error);
  })["experiments"];
  assert_int_equal(experiments.size(), 1);
  const Json trial = reader.read([&](det_client *client, char **out, det_error *error) {
    return det_client_get_trial(client, life.trial(), out, error);
  });
  assert_string_equal(trial["state"].get<std::string>().c_str(), "COMPLETED");
  const Json metrics = reader.read([&](det_client *client, char **out, det_error *error) {
    return det_client_list_metrics(client, life.trial(), nullptr, nullptr, out, error);
  })["metrics"];
  std::vector<int64_t> stored;
  for (const Json &one : metrics) stored.push_back(one["steps_completed"]);
  assert_true(stored == life.reported());
  const Json checkpoints = reader.read([&](det_client *client, char **out, det_error *error) {
    return det_client_list_checkpoints(client, life.trial(), nullptr, out, error);
  })["checkpoints"];
  std::vector<std::string> complete;
  for (const Json &one : checkpoints)
    if (one["state"].get<std::string>() == "COMPLETED") complete.push_back(one["uuid"]);
  assert_int_equal(complete.size(), 1);
  assert_string_equal(complete[0].c_str(), life.kept().c_str());
}

void live_with_store(Sweep &sweep) {
  const TemporaryDirectory home;
  Life life(sweep, home.path());
  life.begin(embedded_options(home.path()));
  life.report();
  life.keep_metadata();
  life.look_around();
  life.keep_events();
  life.save();
  life.search();
  life.close();
  sweep.end();
  assert_stored(home.path(), life);
}

void calls_of_a_store_without_memory_lose_nothing(void **) { sweep_calls(live_with_store); }
void threads_of_a_store_without_memory_lose_nothing(void **) { sweep_threads(live_with_store); }

}  // namespace
}  // namespace det::test

int test_embedded() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_a_store_without_memory_lose_nothing),
      cmocka_unit_test(threads_of_a_store_without_memory_lose_nothing),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
