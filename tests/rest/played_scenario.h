// A recorded scenario, played leg by leg and rank by rank in processes of their own (leg/main.cc),
// against a master that answers as the recorded one did (tests/servers/replay.py).
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "core/base/file.h"
#include "tests/cmocka.h"
#include "tests/free_port.h"
#include "tests/rest/leg_environment.h"
#include "tests/rest/server.h"
#include "tests/temporary_directory.h"

namespace det::master {

class PlayedScenario {
 public:
  // Such as "0.38.1/s1_single".
  explicit PlayedScenario(const std::string &name)
      : recording_(copy(name, ".jsonl")), script_file_(copy(name, ".script.json")) {
    std::istringstream lines(read_file(recording_));
    for (std::string line; std::getline(lines, line);) rows_.push_back(Json::parse(line));
    script_ = Json::parse(read_file(script_file_));
    master_.emplace("replay", std::vector<std::string>{recording_});
  }

  bool is_managed() const { return script_["managed"]; }
  const std::vector<Json> &legs() const { return script_["legs"].get_ref<const Json::array_t &>(); }
  const std::vector<Json> &rows() const { return rows_; }

  // Fails the test where a process ends otherwise than it did. Gives the master's report.
  Json play() const {
    for (size_t leg = 0; leg < legs().size(); ++leg) play_leg(leg);
    return master_->control("GET", "/test/report");
  }

 private:
  // The paths in it become ones of this test.
  std::string copy(const std::string &name, const std::string &suffix) const {
    const std::filesystem::path file = directory_ / (name + suffix);
    std::string text = read_file(TEST_DATA "/wire/" + name + suffix);
    const std::string old = "/data/checkpoints", own = (directory_ / "checkpoints").string();
    for (size_t at = 0; (at = text.find(old, at)) != text.npos; at += own.size())
      text.replace(at, old.size(), own);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file;
  }

  bool has_login() const {
    return std::any_of(rows_.begin(), rows_.end(),
                       [](const Json &row) { return row["path"] == "/api/v1/auth/login"; });
  }

  // Every other leg is told by files, and those whose containers would have to meet.
  Environment environment_of(const ReplayPlace &place, size_t leg, int rank) const {
    const Json &facts = legs()[leg];
    if (!is_managed()) return unmanaged_environment(place, facts, !has_login());
    return managed_environment(place, facts, rank, leg % 2 == 0 || facts["ranks"] > 1);
  }

  pid_t start(const ReplayPlace &place, size_t leg, int rank) const {
    Environment environment = environment_of(place, leg, rank);
    const std::array<std::string, 5> command{std::getenv("DET_TEST_REPLAY_LEG"), script_file_,
                                             std::to_string(leg), std::to_string(rank),
                                             place.directory.string()};
    std::vector<const char *> arguments, variables;
    for (const std::string &argument : command) arguments.push_back(argument.c_str());
    for (const std::string &variable : environment) variables.push_back(variable.c_str());
    arguments.push_back(nullptr);
    variables.push_back(nullptr);
    const Fd log = open_file(place.directory / "log", O_WRONLY | O_CREAT | O_APPEND, 0600);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      dup2(log.get(), STDOUT_FILENO);
      dup2(log.get(), STDERR_FILENO);
      execve(arguments[0], const_cast<char *const *>(arguments.data()),
             const_cast<char *const *>(variables.data()));
      _exit(127);
    }
    return pid;
  }

  static bool has_ended(int status, const Json &as) {
    if (as[0] == "killed") return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return WIFEXITED(status) && WEXITSTATUS(status) == as[1];
  }

  void play_leg(size_t leg) const {
    const ReplayPlace place{directory_.path(), master_->url(), free_port()};
    std::vector<pid_t> processes;
    for (int rank = 0; rank < legs()[leg]["ranks"]; ++rank)
      processes.push_back(start(place, leg, rank));
    bool good = true;
    for (const pid_t process : processes) {
      int status = -1;
      waitpid(process, &status, 0);
      good = has_ended(status, legs()[leg]["calls"].back()) && good;
    }
    if (!good) fail_msg("leg %zu: %s", leg, read_file(place.directory / "log").c_str());
  }

  const TemporaryDirectory directory_;
  const std::string recording_, script_file_;
  std::vector<Json> rows_;
  Json script_;
  std::optional<PythonServer> master_;
};

}  // namespace det::master
