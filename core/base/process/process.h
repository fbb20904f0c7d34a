// Which process owns something on disk, and whether it still lives.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/base/json_fwd.h"
#include "core/base/process/unshared_fd.h"

namespace det {

// Of this machine; empty where it has none.
std::string host_name();

// Enough to tell a process from a later one with the same number, here or on another machine.
struct ProcessIdentity {
  std::string host;            // for people
  std::string boot_id;         // this boot of this machine
  uint64_t pid_namespace = 0;  // process numbers mean something only within one
  int64_t pid = 0;
  uint64_t start_ticks = 0;  // since boot

  static ProcessIdentity current();
  // Of a process of this machine; `start_ticks` is 0 when it is gone. Throws where the system does
  // not tell.
  static ProcessIdentity of(int64_t pid);
  static ProcessIdentity from_json(const Json &json);
  Json to_json() const;

  // Whether this process could say anything about that one (same boot and pid namespace).
  bool is_local() const;
};

enum class Liveness { alive, dead, unknown };

Liveness liveness(const ProcessIdentity &process);

// A file that its owner keeps locked as long as it lives. The file says who that is, since a child
// may have the lock for a moment and would otherwise make a dead owner look alive.
class OwnerLock {
 public:
  // Makes the file and locks it; throws Code::busy when another process owns it.
  static OwnerLock acquire(const std::filesystem::path &path);

  // Takes over the file of an owner that is gone. Nothing when it lives or cannot be judged.
  static std::optional<OwnerLock> take_over(const std::filesystem::path &path);

  // Whom the file system takes this process for: over a network not always geteuid().
  uid_t user() const;

 private:
  explicit OwnerLock(Fd file) : file_(std::move(file)) {}
  UnsharedFd file_;
};

// Whether the owner of the lock file at `path` lives. Absent file: dead.
Liveness owner_liveness(const std::filesystem::path &path);

// Waits until nobody else holds this file, which is made where it is not there; held as long as the
// descriptor is open.
UnsharedFd wait_for_lock(const std::filesystem::path &path);

}  // namespace det
