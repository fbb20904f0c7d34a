// Who a process is to a cluster, from the files and variables that real ones have set.
#include "core/config/cluster_info.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::config;

constexpr std::array<const char *, 4> recordings{"0.19.10-restarted", "0.33.0-restarted",
                                                 "0.38.1-second-node", "0.38.1-checkpoint-gc"};
constexpr const char *trial = "0.33.0-restarted";

Json recording(const std::string &name) {
  const std::string file = std::string(std::getenv("DET_TEST_CLUSTERS")) + "/" + name + ".json";
  return parse_json_object(read_file(file), file);
}

// A process of a task: an info directory and variables, both empty at first.
class Task {
 public:
  Task() { clear(); }
  ~Task() { clear(); }

  void write(const std::string &file, const std::string &text) {
    write_file_durably(directory_ / file, text);
  }
  void write_all(const Json &files) {
    for (const auto &[file, content] : files.items()) write(file, content.dump());
  }
  void set_all(const Json &variables) {
    for (const auto &[name, value] : variables.items()) set(name, value.get<std::string>());
  }
  void set(const std::string &name, const std::string &value) {
    set_.push_back(name);
    setenv(name.c_str(), value.c_str(), 1);
  }
  std::string refusal(Code code) {
    return expect_error(code, [] { read_cluster_info(); });
  }

 private:
  void clear() {
    for (const std::string &name : set_) unsetenv(name.c_str());
    for (const char *name : {"DET_MASTER", "DET_TASK_ID", "DET_ALLOCATION_ID", "DET_USER_TOKEN"})
      unsetenv(name);
    setenv("DET_INFO_DIR", directory_.path().c_str(), 1);
  }

  TemporaryDirectory directory_;
  std::vector<std::string> set_;
};

void expect_equal(const ClusterInfo &a, const ClusterInfo &b) {
  const auto all = [](const ClusterInfo &i) {
    return std::vector<std::string>{
        i.master_url, i.cluster_id,    i.agent_id,
        i.task_id,    i.allocation_id, i.task_type,
        i.user_token, i.session_token, i.latest_checkpoint.value_or("-"),
        i.cert_name,  i.cert_file};
  };
  assert_equal(all(a), all(b));
  assert_equal(a.slot_ids, b.slot_ids);
  assert_int_equal(a.trial.has_value(), b.trial.has_value());
  if (!a.trial) return;
  const auto numbers = [](const ClusterTrial &t) {
    return std::vector<int64_t>{t.trial_id, t.experiment_id, t.trial_seed, t.run_id,
                                t.steps_completed};
  };
  assert_equal(numbers(*a.trial), numbers(*b.trial));
  assert_equal(a.trial->hparams, b.trial->hparams);
  assert_equal(a.trial->config, b.trial->config);
}

void process_without_files_and_variables_is_on_no_cluster(void **) {
  Task task;
  assert_false(read_cluster_info().has_value());
  task.set("DET_MASTER", "http://host:8080");
  task.set("DET_TASK_ID", "1.a");
  assert_false(read_cluster_info().has_value());
}

void embedded_store_is_no_cluster(void **) {
  for (const char *master : {"/data/store", "file:/data/store"}) {
    Task task;
    task.set_all(recording(trial)["environment"]);
    task.set("DET_MASTER", master);
    assert_false(read_cluster_info().has_value());
  }
}

void files_and_variables_say_the_same(void **) {
  for (const char *name : recordings) {
    const Json recorded = recording(name);
    Task by_variables;
    by_variables.set_all(recorded["environment"]);
    const ClusterInfo variables = *read_cluster_info();
    assert_string_equal(variables.origin.c_str(), "the variables DET_*");
    by_variables.write_all(recorded["files"]);
    const ClusterInfo files = *read_cluster_info();
    assert_true(contains(files.origin, "detcore-test-"));
    expect_equal(files, variables);
  }
}

void trial_is_read_in_full(void **) {
  Task task;
  task.write_all(recording("0.38.1-second-node")["files"]);
  const ClusterInfo info = *read_cluster_info();
  assert_string_equal(info.master_url.c_str(), "http://master:8080");
  assert_true(info.allocation_id.starts_with(info.task_id + "."));
  assert_false(info.latest_checkpoint.has_value());
  assert_int_equal(info.trial->experiment_id, 21);
  assert_int_equal(info.trial->run_id, 1);
  assert_true(info.met);
  assert_int_equal(info.container_rank, 1);
  assert_int_equal(info.container_addresses.size(), 2);
  assert_equal(info.container_slot_counts, (std::vector<int64_t>{2, 2}));
}

void restarted_trial_knows_its_checkpoint(void **) {
  for (const char *name : {"0.19.10-restarted", "0.33.0-restarted"}) {
    Task task;
    task.write_all(recording(name)["files"]);
    const ClusterInfo info = *read_cluster_info();
    assert_int_equal(info.latest_checkpoint.value().size(), 36);
    assert_int_equal(info.trial->run_id, 2);
    assert_true(info.trial->steps_completed > 0);
    assert_equal(info.container_slot_counts, std::vector<int64_t>{1});
  }
}

void containers_must_meet_without_a_rendezvous_file(void **) {
  Task task;
  Json files = recording(trial)["files"];
  files.erase("rendezvous.json");
  task.write_all(files);
  assert_false(read_cluster_info()->met);
}

void other_tasks_are_alone_and_have_no_checkpoint(void **) {
  Task task;
  Json files = recording("0.38.1-checkpoint-gc")["files"];
  files["cluster.json"]["latest_checkpoint"] = "some";
  files["cluster.json"]["slot_ids"] = {4, 5};
  files["cluster.json"]["task_type"] = "SOMETHING_NEW";
  task.write_all(files);
  const ClusterInfo info = *read_cluster_info();
  assert_false(info.trial.has_value());
  assert_false(info.latest_checkpoint.has_value());
  assert_true(info.met);
  assert_string_equal(info.container_addresses.at(0).c_str(), "127.0.0.1");
  assert_equal(info.container_slot_counts, std::vector<int64_t>{2});
}

void unknown_keys_are_ignored_and_null_is_none(void **) {
  Task task;
  Json files = recording(trial)["files"];
  files["cluster.json"]["of_a_later_version"] = {{"a", 1}};
  files["cluster.json"]["latest_checkpoint"] = nullptr;
  files["cluster.json"].erase("master_cert_name");
  files["resources.json"]["gpu_uuids"] = {"GPU-1"};
  task.write_all(files);
  const ClusterInfo info = *read_cluster_info();
  assert_false(info.latest_checkpoint.has_value());
  assert_string_equal(info.cert_name.c_str(), "");
  assert_string_equal(info.gpu_uuids.at(0).c_str(), "GPU-1");
}

void user_token_comes_from_its_variable(void **) {
  Task task;
  task.write_all(recording(trial)["files"]);
  assert_string_equal(read_cluster_info()->user_token.c_str(), "");
  task.set("DET_USER_TOKEN", "user's");
  assert_string_equal(read_cluster_info()->user_token.c_str(), "user's");
}

void wrong_value_is_named_by_file_and_key(void **) {
  struct Wrong {
    const char *file, *key;
    Json value;
  };
  const std::vector<Wrong> wrong = {
      {"cluster.json", "master_url", "ftp://host"},
      {"cluster.json", "master_url", 1},
      {"cluster.json", "master_url", nullptr},
      {"cluster.json", "task_id", ""},
      {"cluster.json", "slot_ids", "[0]"},
      {"cluster.json", "slot_ids", {"0"}},
      {"cluster.json", "slot_ids", {-1}},
      {"cluster.json", "allocation_id", "other.1"},
      {"cluster.json", "session_token", 7},
      {"cluster.json", "latest_checkpoint", true},
      {"trial.json", "trial_id", "28"},
      {"trial.json", "trial_id", 0},
      {"trial.json", "trial_id", 1.5},
      {"trial.json", "trial_id", UINT64_MAX},
      {"trial.json", "trial_run_id", 0},
      {"trial.json", "steps_completed", -1},
      {"trial.json", "hparams", Json::array()},
      {"trial.json", "config", nullptr},
      {"rendezvous.json", "container_rank", 1},
      {"rendezvous.json", "container_addrs", {1}},
      {"rendezvous.json", "container_slot_counts", {1, 1}},
      {"resources.json", "gpu_uuids", "GPU-1"},
  };
  for (const Wrong &one : wrong) {
    Task task;
    Json files = recording(trial)["files"];
    files[one.file][one.key] = one.value;
    task.write_all(files);
    const std::string message = task.refusal(Code::corrupt);
    assert_true(contains(message, one.file));
    assert_true(contains(message, one.key));
  }
}

void missing_key_is_named_by_file(void **) {
  Task task;
  Json files = recording(trial)["files"];
  files["trial.json"].erase("trial_seed");
  task.write_all(files);
  const std::string message = task.refusal(Code::corrupt);
  assert_true(contains(message, "trial_seed") && contains(message, "trial.json"));
}

void trial_without_its_file_is_an_error(void **) {
  Task task;
  Json files = recording(trial)["files"];
  files.erase("trial.json");
  task.write_all(files);
  assert_true(contains(task.refusal(Code::corrupt), "trial.json"));
}

void half_written_file_is_named_and_its_token_is_not(void **) {
  for (const char *file : {"cluster.json", "trial.json", "rendezvous.json", "resources.json"})
    for (const std::string text : {"", "{", "[]", "null", R"({"session_token": "secret)",
                                   R"({"session_token": secret)", "\xff\xfe"}) {
      Task task;
      task.write_all(recording(trial)["files"]);
      task.write(file, text);
      const std::string message = task.refusal(Code::corrupt);
      assert_true(contains(message, file));
      assert_false(contains(message, "secret"));
    }
}

void missing_variables_are_listed_together(void **) {
  Task task;
  Json variables = recording(trial)["environment"];
  for (const char *name : {"DET_SESSION_TOKEN", "DET_SLOT_IDS", "DET_TRIAL_SEED", "DET_HPARAMS"})
    variables.erase(name);
  task.set_all(variables);
  const std::string message = task.refusal(Code::invalid);
  for (const char *name : {"DET_SESSION_TOKEN", "DET_SLOT_IDS", "DET_TRIAL_SEED", "DET_HPARAMS"})
    assert_true(contains(message, name));
  assert_false(contains(message, "DET_AGENT_ID"));
}

void wrong_variable_is_named(void **) {
  struct Wrong {
    const char *name, *value;
  };
  for (const Wrong one :
       {Wrong{"DET_SLOT_IDS", "0"}, Wrong{"DET_TRIAL_ID", "x"}, Wrong{"DET_TRIAL_ID", "-1"},
        Wrong{"DET_HPARAMS", "[]"}, Wrong{"DET_EXPERIMENT_CONFIG", "{\"secret"},
        Wrong{"DET_ALLOCATION_ID", "7.other.1"}, Wrong{"DET_TASK_TYPE", ""}}) {
    Task task;
    task.set_all(recording(trial)["environment"]);
    task.set(one.name, one.value);
    const std::string message = task.refusal(Code::invalid);
    assert_true(contains(message, one.name));
    assert_false(contains(message, "secret"));
  }
}

void files_come_before_variables(void **) {
  Task task;
  task.set_all(recording("0.19.10-restarted")["environment"]);
  task.write_all(recording(trial)["files"]);
  task.set("DET_TRIAL_ID", "999");
  assert_int_equal(read_cluster_info()->trial->trial_id,
                   recording(trial)["files"]["trial.json"]["trial_id"].get<int>());
}

}  // namespace

int test_cluster_info() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(process_without_files_and_variables_is_on_no_cluster),
      cmocka_unit_test(embedded_store_is_no_cluster),
      cmocka_unit_test(files_and_variables_say_the_same),
      cmocka_unit_test(trial_is_read_in_full),
      cmocka_unit_test(restarted_trial_knows_its_checkpoint),
      cmocka_unit_test(containers_must_meet_without_a_rendezvous_file),
      cmocka_unit_test(other_tasks_are_alone_and_have_no_checkpoint),
      cmocka_unit_test(unknown_keys_are_ignored_and_null_is_none),
      cmocka_unit_test(user_token_comes_from_its_variable),
      cmocka_unit_test(wrong_value_is_named_by_file_and_key),
      cmocka_unit_test(missing_key_is_named_by_file),
      cmocka_unit_test(trial_without_its_file_is_an_error),
      cmocka_unit_test(half_written_file_is_named_and_its_token_is_not),
      cmocka_unit_test(missing_variables_are_listed_together),
      cmocka_unit_test(wrong_variable_is_named),
      cmocka_unit_test(files_come_before_variables),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
