// Where a trial of a test runs: what a cluster or a user has set around it, and a directory of its
// own for all that it keeps.
#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/base/error.h"
#include "core/context/core.h"
#include "core/journal/run_directory.h"
#include "core/master/rest/home.h"
#include "tests/cmocka.h"
#include "tests/patience.h"
#include "tests/rest/server.h"
#include "tests/temporary_directory.h"

namespace det::test {

namespace fs = std::filesystem;

// Waits for what other threads do; the test fails where it never comes. A request that a faulty
// server lets hang takes a minute alone.
inline void wait_until_so(const std::function<bool()> &is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(TEST_PATIENCE_SECONDS);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) fail_msg("it never came");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

class Surroundings {
 public:
  Surroundings() {
    for (const std::string &name : names_set()) unsetenv(name.c_str());
    set("DET_HOME", (directory / "home").string());
    set("DET_DEBUG_CONFIG_PATH", (directory / "config").string());
    set("DET_INFO_DIR", (directory / "info").string());
    set("XDG_DATA_HOME", (directory / "data").string());
  }
  Surroundings(const Surroundings &) = delete;
  Surroundings &operator=(const Surroundings &) = delete;
  ~Surroundings() {
    for (const std::string &name : names_set()) unsetenv(name.c_str());
  }

  static void set(const std::string &name, const std::string &value) {
    setenv(name.c_str(), value.c_str(), 1);
  }

  // As the stand-in's set-up has it.
  Json cluster(const std::string &url) const {
    return {{"master_url", url},    {"cluster_id", "cluster"},      {"agent_id", "agent"},
            {"slot_ids", {0}},      {"task_id", "1.aaaa"},          {"allocation_id", "1.aaaa.1"},
            {"task_type", "TRIAL"}, {"session_token", "task-token"}};
  }
  Json trial() const {
    return {{"trial_id", 7},
            {"experiment_id", 1},
            {"trial_seed", 1},
            {"trial_run_id", 1},
            {"steps_completed", 0},
            {"hparams", Json::object()},
            {"config",
             {{"searcher", {{"name", "single"}, {"metric", "loss"}, {"max_length", 100}}},
              {"checkpoint_storage",
               {{"type", "shared_fs"}, {"host_path", (directory / "checkpoints").string()}}}}}};
  }

  // In a container of a cluster, told by variables; the containers have yet to meet.
  void in_task(const std::string &url) const {
    set("DET_MASTER", url);
    set("DET_CLUSTER_ID", "cluster");
    set("DET_AGENT_ID", "agent");
    set("DET_SLOT_IDS", "[0]");
    set("DET_TASK_ID", "1.aaaa");
    set("DET_ALLOCATION_ID", "1.aaaa.1");
    set("DET_TASK_TYPE", "TRIAL");
    set("DET_SESSION_TOKEN", "task-token");
    set("DET_RESOURCES_ID", "cccc");
    const Json facts = trial();
    for (const auto &[key, value] : facts.items())
      set(key == "config" ? "DET_EXPERIMENT_CONFIG" : "DET_" + upper_case(key), value.dump());
    retry_soon();
  }

  // The same told by files, after they have met.
  void in_prepared_task(const Json &cluster, const Json &trial) const {
    write_info("cluster", cluster.dump());
    write_info("trial", trial.dump());
    write_info("rendezvous",
               R"({"container_addrs": ["127.0.0.1"], "container_rank": 0,
                   "container_slot_counts": [1]})");
    set("DET_RESOURCES_ID", "cccc");
    retry_soon();
  }
  void write_info(const std::string &name, const std::string &text) const {
    fs::create_directories(directory / "info");
    const fs::path file = directory / "info" / (name + ".json");
    write_all(open_file(file, O_WRONLY | O_CREAT | O_TRUNC).get(), text, file.string());
  }

  // A user who is logged in.
  void as_user(const std::string &url) const {
    set("DET_MASTER", url);
    set("DET_USER", "admin");
    set("DET_USER_TOKEN", "user-token");
  }

  context::CoreOptions options() {
    context::CoreOptions options;
    options.tensorboard_mode = tensorboard::TensorboardMode::manual;
    options.close_limit = std::chrono::seconds(20);
    options.log_level = LogLevel::debug;
    options.log = [this](const LogLine &line) {
      const std::lock_guard lock(mutex_);
      log_ += line.text + "\n";
    };
    return options;
  }

  std::string log() {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  // Names of the directories that runs against this master have left behind.
  std::vector<std::string> left_behind(const std::string &url) const {
    std::vector<std::string> names;
    std::error_code absent;
    for (const auto &entry : fs::directory_iterator(master::rest_home(url) / "runs", absent))
      names.push_back(entry.path().filename());
    return names;
  }

  // In messages, and in any file but that of the user's tokens.
  void assert_no_token_shown() {
    const auto is_clean = [](const std::string &text) {
      return text.find("user-token") == text.npos && text.find("task-token") == text.npos;
    };
    assert_true(is_clean(log()));
    for (const auto &entry : fs::recursive_directory_iterator(directory.path())) {
      const fs::path &file = entry.path();
      if (!entry.is_regular_file() || file.parent_path() == directory / "info") continue;
      if (file.filename() != "auth.json" && !is_clean(read_file(file)))
        fail_msg("there is a token in '%s'", file.c_str());
    }
  }

  TemporaryDirectory directory;

 private:
  static std::vector<std::string> names_set() {
    std::vector<std::string> names;
    for (char **at = environ; *at != nullptr; ++at)
      if (const std::string text = *at; text.starts_with("DET_") && !text.starts_with("DET_TEST_"))
        names.push_back(text.substr(0, text.find('=')));
    return names;
  }
  static std::string upper_case(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
  }
  static void retry_soon() {
    set("DET_RETRY_CONFIG", R"({"total": 3, "backoff_factor": 0.01, "allowed_methods": false})");
  }

  std::mutex mutex_;
  std::string log_;
};

inline void report_training(context::Core &core, int64_t steps, double loss) {
  const journal::NamedValue value{"loss", loss};
  core.train().report_training(steps, &value, 1);
}

inline void report_validation(context::Core &core, int64_t steps, double loss) {
  const journal::NamedValue value{"loss", loss};
  core.train().report_validation(steps, &value, 1);
}

// The first acknowledgement is sent along.
inline void wait_for_preemption(context::Core &core) {
  wait_until_so([&] { return core.preempt().should_preempt(true); });
}

inline std::vector<Json> requests_to(const master::FakeMaster &master,
                                     const std::string &path_end) {
  std::vector<Json> found;
  for (const Json &request : master.requests())
    if (request["path"].get<std::string>().ends_with(path_end)) found.push_back(request);
  return found;
}

// The steps of the training reports that the master has, in order; twice where it has it twice.
inline std::vector<int64_t> steps_of(const Json &state, int64_t trial = 0) {
  std::vector<int64_t> steps;
  for (const Json &row : state["metrics"])
    if (row["group"] == "training" && (trial == 0 || row["trial"] == trial))
      steps.push_back(row["step"]);
  std::ranges::sort(steps);
  return steps;
}

inline std::vector<int64_t> steps_to(int64_t last) {
  std::vector<int64_t> steps;
  for (int64_t step = 1; step <= last; ++step) steps.push_back(step);
  return steps;
}

// A process that does this, and is killed while it has the core.
inline void run_and_kill(const std::function<std::shared_ptr<context::Core>()> &work) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    try {
      const std::shared_ptr<context::Core> core = work();
      raise(SIGKILL);
    } catch (const std::exception &error) {
      fprintf(stderr, "in the child: %s\n", error.what());
    }
    _exit(1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_equal(WTERMSIG(status), SIGKILL);
}

}  // namespace det::test
