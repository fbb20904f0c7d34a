// Allocations that fail in trials of a master over HTTP.
#include "tests/memory/life.h"
#include "tests/rest/surroundings.h"

namespace det::test {
namespace {

det_core_options http_options(const fs::path &storage) {
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.external_id = "the one trial";
  options.hparams_json = R"({"optimizer": {"name": "one with a long name"}})";
  options.checkpoint_storage = storage.c_str();
  options.tensorboard_mode = DET_TENSORBOARD_MODE_MANUAL;
  options.log_level = DET_LOG_LEVEL_DEBUG;
  return options;
}

void assert_complete(const master::FakeMaster &master, const Surroundings &place,
                     const Life &life) {
  const Json state = master.state();
  std::vector<int64_t> stored;
  for (const Json &row : state["metrics"]) stored.push_back(row["step"]);
  std::ranges::sort(stored);
  assert_true(stored == life.reported());
  // Where memory does not come back, a call may find none to say that the master knows it.
  bool knows_kept = false;
  for (const Json &one : state["checkpoints"]) {
    if (one["state"] != "STATE_COMPLETED") continue;
    const std::string id = one["uuid"];
    assert_true(fs::exists(place.directory / "checkpoints" / id / "metadata.json"));
    assert_string_not_equal(id.c_str(), life.deleted().c_str());
    knows_kept |= id == life.kept();
  }
  assert_true(knows_kept);
}

// A user's own process.
void live_alone(Sweep &sweep) {
  const master::FakeMaster &master = master::fresh_master("0.38.1");
  const Surroundings place;
  place.as_user(master.url());
  const fs::path storage = place.directory / "checkpoints";
  Life life(sweep, place.directory.path());
  life.begin(http_options(storage));
  life.report();
  life.save();
  life.close();
  sweep.end();
  assert_complete(master, place, life);
  const Json trial = master.state()["trials"][std::to_string(life.trial())];
  assert_true(trial["state"] == "STATE_COMPLETED");
}

// A process of a cluster.
void live_in_cluster(Sweep &sweep) {
  const master::FakeMaster &master = master::fresh_master("0.33.0");
  const Surroundings place;
  Json trial = place.trial();
  trial["hparams"] = {{"optimizer", {{"name", "one with a long name"}}}};
  place.in_prepared_task(place.cluster(master.url()), trial);
  Life life(sweep, place.directory.path());
  det_core_options options = http_options(place.directory / "checkpoints");
  options.external_id = options.hparams_json = options.checkpoint_storage = nullptr;
  life.begin(options);
  life.report();
  life.look_around();
  life.save();
  life.search();
  life.close();
  sweep.end();
  assert_complete(master, place, life);
}

void calls_of_a_user_without_memory_lose_nothing(void **) { sweep_calls(live_alone); }
void calls_in_a_cluster_without_memory_lose_nothing(void **) { sweep_calls(live_in_cluster); }
// libcurl 7.88 divides by zero once it has found no memory for the transfers of a socket.
void threads_in_a_cluster_without_memory_lose_nothing(void **) {
  sweep_threads(live_in_cluster, Allocations::of_cpp);
}

}  // namespace
}  // namespace det::test

int test_http() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(calls_of_a_user_without_memory_lose_nothing),
      cmocka_unit_test(calls_in_a_cluster_without_memory_lose_nothing),
      cmocka_unit_test(threads_in_a_cluster_without_memory_lose_nothing),
  };
  return cmocka_run_group_tests_name("http", tests, nullptr, nullptr);
}
