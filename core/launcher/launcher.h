// Runs trials somewhere. The supervisor decides what runs; a launcher knows how: local/ runs them
// as processes of this machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace det::launcher {

// For messages.
inline std::string trial_name(int64_t trial_id) { return "trial " + std::to_string(trial_id); }

struct TrialLaunch {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  int slots = 1;  // more than 1: as many ranks; 0: needs none
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // added to what it would have anyway
  std::filesystem::path directory;                 // to start in; empty: that of this process
  std::filesystem::path log_file;                  // what it prints is appended here
  int64_t slots_at_once = 0;  // the most that the trials of its experiment have; 0: all there are
};

// How what was launched left.
struct LaunchedExit {
  int64_t trial_id = 0;
  int64_t run_id = 0;
  // Of what was adopted perhaps nobody knows.
  enum class Kind { exited, signaled, unknown } kind = Kind::exited;
  int status = 0;     // the exit code, or the signal
  bool lost = false;  // while nobody watched, or with its machine: nobody's fault
};

// Used by one thread.
class Launcher {
 public:
  virtual ~Launcher() = default;

  // Whether so many slots are free.
  virtual bool has_room(int slots) const = 0;
  // The most slots that one trial can ever have.
  virtual int total_slots() const = 0;
  // Whether slots are GPUs.
  virtual bool has_gpus() const { return false; }

  // Throws what would keep the command of this launch from starting now (Code::not_found,
  // Code::access, ...).
  virtual void check(const TrialLaunch &) const {}

  // Makes all ready for a run, which begins with go(), and says what it is known by: the text of a
  // JSON object, which goes on record in between. Where that is a ProcessIdentity, the engine may
  // judge and kill the process while no supervisor is there; all else counts as running until one
  // is. Where go() does not come, whatever becomes of this process, the run never begins. Throws
  // Code::busy where there is no room.
  virtual std::string prepare(const TrialLaunch &launch) = 0;
  // Throws what is known to keep the command from starting (Code::not_found, Code::access, ...);
  // then nothing is left of the run and no exit follows.
  virtual void go(int64_t trial_id) = 0;

  // Takes over a run that another launcher of this kind has prepared: `identity` is what that gave
  // it. Where it has left already its exit follows. Throws Code::unsupported for one that cannot be
  // judged from here.
  virtual void adopt(const TrialLaunch &launch, const std::string &identity) = 0;

  // Ends all that belongs to the run of a trial at once. Its exit follows.
  virtual void kill(int64_t trial_id) = 0;

  // Readable when there are exits.
  virtual int exit_fd() const = 0;
  // Of runs of which nothing is left.
  virtual std::vector<LaunchedExit> take_exits() = 0;
};

}  // namespace det::launcher
