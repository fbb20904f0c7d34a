// A recorded scenario, played leg by leg and rank by rank in processes of their own
// (replay_leg.cc), against a master that answers as the recorded one did (replay.py).
#pragma once

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/cmocka.h"
#include "tests/rest/server.h"
#include "tests/temporary_directory.h"

namespace det {

class PlayedScenario {
 public:
  // Such as "0.38.1/s1_single".
  explicit PlayedScenario(const std::string &name)
      : recording_(copy(name, ".jsonl")), script_file_(copy(name, ".script.json")) {
    std::istringstream lines(read_file(recording_));
    for (std::string line; std::getline(lines, line);) rows_.push_back(Json::parse(line));
    script_ = Json::parse(read_file(script_file_));
    master_.emplace(rest_script("replay.py"), std::vector<std::string>{recording_});
  }

  const Json &script() const { return script_; }
  const std::vector<Json> &rows() const { return rows_; }

  // Fails the test where a process ends otherwise than it did. Gives the master's report.
  Json play() {
    for (size_t leg = 0; leg < script_["legs"].size(); ++leg) play_leg(leg);
    return master_->control("GET", "/test/report");
  }

 private:
  struct Fact {
    const char *key, *variable;
    Json value;
  };
  using Facts = std::vector<Fact>;

  // The paths in it become ones of this test.
  std::string copy(const std::string &name, const std::string &suffix) const {
    const std::filesystem::path file = directory_ / (name + suffix);
    std::string text = read_file(rest_script("../data/wire/" + name + suffix));
    const std::string old = "/data/checkpoints", own = (directory_ / "checkpoints").string();
    for (size_t at = 0; (at = text.find(old, at)) != text.npos; at += own.size())
      text.replace(at, old.size(), own);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

  Facts cluster_facts(const Json &leg, size_t node) const {
    Json slots = Json::array();
    const size_t count = leg["ranks"].get<size_t>() / leg["resources_ids"].size();
    for (size_t i = 0; i < count; ++i) slots.push_back(i);
    return {{"master_url", "DET_MASTER", master_->url()},
            {"cluster_id", "DET_CLUSTER_ID", "cluster"},
            {"agent_id", "DET_AGENT_ID", leg["agent_id"]},
            {"slot_ids", "DET_SLOT_IDS", slots},
            {"task_id", "DET_TASK_ID", leg["task_id"]},
            {"allocation_id", "DET_ALLOCATION_ID", leg["allocation_id"]},
            {"session_token", "DET_SESSION_TOKEN", "task-token"},
            {"task_type", "DET_TASK_TYPE", "TRIAL"},
            {"latest_checkpoint", "DET_LATEST_CHECKPOINT", latest_checkpoint(leg)},
            {"resources_id", "DET_RESOURCES_ID", leg["resources_ids"][node]}};
  }

  // Under the name that it got here, where it was stored here.
  Json latest_checkpoint(const Json &leg) const {
    std::ifstream lines(directory_ / "uuids");
    for (std::string recorded, own; lines >> recorded >> own;)
      if (leg["latest_checkpoint"] == recorded) return own;
    return leg["latest_checkpoint"];
  }

  static Facts trial_facts(const Json &leg) {
    return {{"trial_id", "DET_TRIAL_ID", leg["trial_id"]},
            {"experiment_id", "DET_EXPERIMENT_ID", leg["experiment_id"]},
            {"trial_seed", "DET_TRIAL_SEED", 7},
            {"trial_run_id", "DET_TRIAL_RUN_ID", leg["run_id"]},
            {"steps_completed", "DET_STEPS_COMPLETED", leg["steps_completed"]},
            {"hparams", "DET_HPARAMS", leg["hparams"]},
            {"config", "DET_EXPERIMENT_CONFIG", leg["config"]}};
  }

  static void write(const std::filesystem::path &file, const Facts &facts) {
    Json json;
    for (const Fact &fact : facts) json[fact.key] = fact.value;
    std::ofstream(file) << json.dump();
  }

  using Environment = std::vector<std::string>;

  void add(Environment &environment, const Facts &facts) const {
    for (const auto &[key, variable, value] : facts)
      if (!value.is_null())
        environment.push_back(std::string(variable) + "=" +
                              (value.is_string() ? value.get<std::string>() : value.dump()));
  }

  // Nothing of a cluster, and a home in which what one leg leaves behind is there for the next.
  Environment plain_environment() const {
    Environment environment;
    for (char **entry = environ; *entry != nullptr; ++entry)
      if (const std::string text = *entry; !text.starts_with("DET_") && !text.starts_with("XDG_"))
        environment.push_back(text);
    environment.push_back("HOME=" + directory_.path().string());
    environment.push_back("XDG_DATA_HOME=" + directory_.path().string());
    environment.push_back("XDG_CONFIG_HOME=" + directory_.path().string());
    return environment;
  }

  // Told by variables or by files, in turn; by files where containers would have to meet.
  Environment managed_environment(size_t index, const Json &leg, int rank) const {
    Environment environment = plain_environment();
    const int nodes = static_cast<int>(leg["resources_ids"].size());
    const int local_size = leg["ranks"].get<int>() / nodes, node = rank / local_size;
    const std::filesystem::path info = directory_ / ("info-" + std::to_string(node));
    std::filesystem::remove_all(info);
    std::filesystem::create_directories(info);
    const Facts cluster = cluster_facts(leg, static_cast<size_t>(node));
    const Facts trial = trial_facts(leg);
    if (nodes > 1 || index % 2 == 0) {
      write(info / "cluster.json", cluster);
      write(info / "trial.json", trial);
      std::ofstream(info / "rendezvous.json") << Json{
          {"container_addrs", std::vector<std::string>(static_cast<size_t>(nodes), "127.0.0.1")},
          {"container_rank", node},
          {"container_slot_counts", std::vector<int>(static_cast<size_t>(nodes), local_size)}};
    } else {
      add(environment, cluster);
      add(environment, trial);
    }
    add(environment, {{"", "DET_INFO_DIR", info.string()},
                      {"", "DET_USER", "admin"},  // real ones have it too, and a token of theirs
                      {"", "DET_USER_TOKEN", "user-token"},
                      {"", "DET_DISTRIBUTED_SECRET", "secret"},
                      {"", "INTER_TRAIN_PROCESS_COMM_PORT_1", port_}});
    return environment;
  }

  // With a login where there is one in the recording, else with a token.
  Environment unmanaged_environment(const Json &leg) const {
    Environment environment = plain_environment();
    add(environment, {{"", "DET_MASTER", master_->url()},
                      {"", "DET_INFO_DIR", (directory_ / "none").string()},
                      {"", "DET_EXTERNAL_EXPERIMENT_ID", leg["external_experiment_id"]},
                      {"", "DET_EXTERNAL_ID", leg["external_trial_id"]}});
    for (const Json &row : rows_)
      if (row["path"] == "/api/v1/auth/login") return environment;
    add(environment, {{"", "DET_USER", "admin"}, {"", "DET_USER_TOKEN", "user-token"}});
    return environment;
  }

  // One that is free now.
  static int free_port() {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto *generic = reinterpret_cast<sockaddr *>(&address);
    assert_int_equal(bind(socket.get(), generic, size), 0);
    assert_int_equal(getsockname(socket.get(), generic, &size), 0);
    return ntohs(address.sin_port);
  }

  pid_t start(size_t leg, int rank) const {
    const Json &facts = script_["legs"][leg];
    Environment environment = script_["managed"].get<bool>() ? managed_environment(leg, facts, rank)
                                                             : unmanaged_environment(facts);
    const std::string program = std::getenv("DET_TEST_REPLAY_LEG"), number = std::to_string(leg),
                      rank_text = std::to_string(rank), place = directory_.path().string();
    std::array<const char *, 6> command{program.c_str(),   script_file_.c_str(), number.c_str(),
                                        rank_text.c_str(), place.c_str(),        nullptr};
    std::vector<char *> variables;
    for (std::string &entry : environment) variables.push_back(entry.data());
    variables.push_back(nullptr);
    const Fd log = open_file(directory_ / "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      dup2(log.get(), STDOUT_FILENO);
      dup2(log.get(), STDERR_FILENO);
      execve(command[0], const_cast<char *const *>(command.data()), variables.data());
      _exit(127);
    }
    return pid;
  }

  void play_leg(size_t leg) {
    port_ = free_port();
    std::vector<pid_t> processes;
    const int ranks = script_["legs"][leg]["ranks"];
    for (int rank = 0; rank < ranks; ++rank) processes.push_back(start(leg, rank));
    const Json last = script_["legs"][leg]["calls"].back();
    bool good = true;
    for (const pid_t process : processes) {
      int status = -1;
      waitpid(process, &status, 0);
      good = good && (last[0] == "killed" ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
                                          : WIFEXITED(status) && WEXITSTATUS(status) == last[1]);
    }
    if (!good) fail_msg("leg %zu: %s", leg, read_file(directory_ / "log").c_str());
  }

  const TemporaryDirectory directory_;
  const std::string recording_, script_file_;
  std::vector<Json> rows_;
  Json script_;
  std::optional<PythonServer> master_;
  int port_ = 0;
};

}  // namespace det
