// Runs trials somewhere. The supervisor decides what runs; a launcher knows how.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/base/process.h"

namespace det {

struct TrialLaunch {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int slots = 1;  // more than 1: as many ranks, through mpirun; 0: needs none
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // added to that of this process
  std::filesystem::path directory;                 // to start in; empty: that of this process
  std::filesystem::path log_file;                  // what it prints is appended here
};

// How a launched process left.
struct LaunchedExit {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  // Of an adopted process nobody knows.
  enum class Kind { exited, signaled, unknown } kind = Kind::exited;
  int status = 0;  // the exit code, or the signal
};

// Used by one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;

  // Whether so many slots are free.
  virtual bool has_room(int slots) const = 0;
  // The most slots there can ever be.
  virtual int total_slots() const = 0;
  virtual bool has_gpus() const { return false; }

  // Throws what would keep the command of this launch from starting now (Code::not_found,
  // Code::access, ...).
  virtual void check(const TrialLaunch &) const {}

  // Makes a process that waits, and says who it is: the leader of a session of its own. It becomes
  // `launch.command` with go(), and is gone when this process ends before that. Throws Code::busy
  // where there is no room.
  virtual ProcessIdentity prepare(const TrialLaunch &launch) = 0;
  // Throws what kept the command from starting (Code::not_found, Code::access, ...); the process is
  // gone then and no exit follows.
  virtual void go(int64_t trial_id) = 0;

  // Takes over a process that another supervisor started with prepare(). Where it is gone already,
  // what it left in its session is ended, and its exit follows.
  virtual void adopt(const TrialLaunch &launch, const ProcessIdentity &leader) = 0;

  // Ends the session of a trial at once. Its exit follows.
  virtual void kill(int64_t trial_id) = 0;

  // Readable when there are exits.
  virtual int exit_fd() const = 0;
  // When a process is gone, all that it started in its session is as well.
  virtual std::vector<LaunchedExit> take_exits() = 0;
};

}  // namespace det
