// Trials as processes of this machine, each the leader of a session. Uses no thread and no signal
// handler; nobody else may wait for its children. Those still running when it is destroyed go on,
// and another launcher may adopt them.
//
// What is started has DET_TRIAL_ID and DET_TRIAL_RUN_ID, by which it is known again, DET_SLOT_IDS
// and where slots are GPUs CUDA_VISIBLE_DEVICES. What leaves the session on purpose, a daemon, is
// left alone.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/base/wake.h"
#include "core/launcher/launcher.h"
#include "core/launcher/local/held_process.h"
#include "core/launcher/local/slots.h"

namespace det::launcher {

// Tells when processes end, and whose they are.
class ProcessWatch {
 public:
  ProcessWatch();

  // Readable while there is something to take.
  int fd() const { return news_.get(); }

  // `owner` is not negative.
  void add(const Fd &process, int64_t owner);
  void remove(const Fd &process);
  // Has an owner taken whose process had ended before it could be watched.
  void announce(int64_t owner);

  // The owners of processes that have ended and are still watched, and those announced since.
  std::set<int64_t> take();

 private:
  Fd news_;  // an epoll of all processes watched, and of the next
  Wake announced_;
  std::set<int64_t> owners_announced_;
};

class LocalLauncher final : public Launcher {
 public:
  explicit LocalLauncher(Slots slots) : slots_(std::move(slots)) {}

  bool has_room(int slots) const override { return slots <= slots_.free() || slots == 0; }
  int total_slots() const override { return slots_.total(); }
  bool has_gpus() const override { return slots_.are_gpus(); }
  void check(const TrialLaunch &launch) const override;
  std::string prepare(const TrialLaunch &launch) override;
  void go(int64_t trial_id) override;
  void adopt(const TrialLaunch &launch, const std::string &identity) override;
  void kill(int64_t trial_id) override;
  int exit_fd() const override { return watch_.fd(); }
  std::vector<LaunchedExit> take_exits() override;

 private:
  struct Run {
    int64_t run_id = 0;
    pid_t leader = 0;
    Fd process;             // the leader; none when it was gone before it was adopted
    bool is_child = false;  // else adopted
    std::optional<HeldProcess> held;
    std::exception_ptr defect;  // of the command, thrown by go()
    std::vector<int> slots;
    std::vector<std::string> marks;  // what every process of the run has in its environment
    std::vector<Fd> left;            // of its session, killed and not yet gone
  };

  void check_is_new(int64_t trial_id) const;
  void add(int64_t trial_id, Run run);
  std::vector<Fd> kill_session_of(const Run &run) const;
  void discard(int64_t trial_id);
  // Its exit, once nothing of it is left.
  std::optional<LaunchedExit> ended(int64_t trial_id, Run &run);

  Slots slots_;
  std::map<int64_t, Run> runs_;
  ProcessWatch watch_;  // by trial; a run that was adopted dead is announced
};

}  // namespace det::launcher
