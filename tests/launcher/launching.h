// A launcher with a directory of its own, and shell scripts to run through it.
#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/json.h"
#include "core/base/process/process.h"
#include "core/launcher/local/local_launcher.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

namespace det::test {

struct Launching {
  TemporaryDirectory directory;
  launcher::LocalLauncher launcher;

  explicit Launching(int cores = 4) : Launching(launcher::Slots(cores)) {}
  explicit Launching(launcher::Slots slots) : launcher(std::move(slots)) {}

  launcher::TrialLaunch launch(int64_t trial_id, std::vector<std::string> command,
                               int slots = 1) const {
    return {trial_id, 1, slots, std::move(command), {}, directory.path(), log(trial_id)};
  }
  launcher::TrialLaunch script(int64_t trial_id, const std::string &text, int slots = 1) const {
    return launch(trial_id, {"sh", "-c", text}, slots);
  }
  ProcessIdentity prepare(const launcher::TrialLaunch &what) {
    return ProcessIdentity::from_json(parse_json(launcher.prepare(what), "the leader of a run"));
  }
  ProcessIdentity start(const launcher::TrialLaunch &what) {
    ProcessIdentity leader = prepare(what);
    launcher.go(what.trial_id);
    return leader;
  }
  void adopt(const launcher::TrialLaunch &what, const ProcessIdentity &leader) {
    launcher.adopt(what, to_wire(leader.to_json()));
  }
  std::filesystem::path log(int64_t trial_id) const {
    return directory / ("log" + std::to_string(trial_id));
  }
  std::string printed(int64_t trial_id) const { return read_file(log(trial_id)); }

  std::vector<launcher::LaunchedExit> wait_for_exits(size_t count) {
    return wait_for_exits(launcher, count);
  }

  static std::vector<launcher::LaunchedExit> wait_for_exits(launcher::Launcher &launcher,
                                                            size_t count) {
    std::vector<launcher::LaunchedExit> exits;
    while (exits.size() < count) {
      pollfd news{launcher.exit_fd(), POLLIN, 0};
      // The limit only ends what hangs.
      assert_int_equal(poll(&news, 1, 60'000), 1);
      for (const launcher::LaunchedExit &exit : launcher.take_exits()) exits.push_back(exit);
    }
    return exits;
  }
};

// Looks again and again; the limit only ends what hangs.
inline void wait_until(const std::function<bool()> &condition) {
  for (int i = 0; i < 60'000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  assert_true(condition());
}

inline bool file_has(const std::filesystem::path &path, const std::string &text) {
  return std::filesystem::exists(path) && read_file(path).find(text) != std::string::npos;
}

// The process whose number a script wrote to a file, with a newline.
inline ProcessIdentity process_in(const std::filesystem::path &path) {
  wait_until([&] { return file_has(path, "\n"); });
  return ProcessIdentity::of(std::stoll(read_file(path)));
}

inline bool is_gone(const ProcessIdentity &process) { return liveness(process) == Liveness::dead; }

inline void assert_exit(const launcher::LaunchedExit &exit, int64_t trial_id,
                        launcher::LaunchedExit::Kind kind, int status) {
  assert_int_equal(exit.trial_id, trial_id);
  assert_int_equal(static_cast<int>(exit.kind), static_cast<int>(kind));
  assert_int_equal(exit.status, status);
}

}  // namespace det::test
