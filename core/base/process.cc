#include "core/base/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/error.h"

namespace det {

namespace fs = std::filesystem;

namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string read_or_empty(const fs::path &path) {
  try {
    return trimmed(read_file(path));
  } catch (const Error &) {
    return {};
  }
}

// Field 22 of /proc/PID/stat; 0 when the process is gone or a zombie. The name in field 2 may hold
// anything, so count from its last ')'.
uint64_t start_ticks_of(int64_t pid) {
  const std::string stat = read_or_empty("/proc/" + std::to_string(pid) + "/stat");
  size_t at = stat.rfind(')');
  if (at == stat.npos || stat.compare(at, 3, ") Z") == 0) return 0;
  for (int field = 2; at != stat.npos && field < 22; ++field) at = stat.find(' ', at + 1);
  return at == stat.npos ? 0 : std::strtoull(stat.c_str() + at + 1, nullptr, 10);
}

uint64_t current_pid_namespace() {
  struct stat about {};
  return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

bool lock(const Fd &file, const fs::path &path) {
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw_errno(errno, "locking '" + path.string() + "'");
}

std::optional<ProcessIdentity> recorded_owner(const fs::path &path) {
  const std::string text = read_or_empty(path);
  if (text.empty()) return std::nullopt;
  try {
    return ProcessIdentity::from_json(parse_json_object(text, path.string()));
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

void record_owner(const Fd &file, const fs::path &path) {
  const std::string text = to_wire(ProcessIdentity::current().to_json()) + "\n";
  if (ftruncate(file.get(), 0) != 0 || lseek(file.get(), 0, SEEK_SET) != 0)
    throw_errno(errno, "writing '" + path.string() + "'");
  write_all(file.get(), text, path.string());
}

}  // namespace

ProcessIdentity ProcessIdentity::current() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  ProcessIdentity self;
  self.host = host.data();
  self.boot_id = read_or_empty("/proc/sys/kernel/random/boot_id");
  self.pid_namespace = current_pid_namespace();
  self.pid = getpid();
  self.start_ticks = start_ticks_of(self.pid);
  return self;
}

ProcessIdentity ProcessIdentity::from_json(const Json &json) {
  ProcessIdentity process;
  process.host = json.value("host", "");
  process.boot_id = json.value("boot_id", "");
  process.pid_namespace = json.value("pid_namespace", uint64_t{0});
  process.pid = json.value("pid", int64_t{0});
  process.start_ticks = json.value("start_ticks", uint64_t{0});
  return process;
}

Json ProcessIdentity::to_json() const {
  return {{"host", host},
          {"boot_id", boot_id},
          {"pid_namespace", pid_namespace},
          {"pid", pid},
          {"start_ticks", start_ticks}};
}

bool ProcessIdentity::is_local() const {
  return !boot_id.empty() && boot_id == read_or_empty("/proc/sys/kernel/random/boot_id") &&
         pid_namespace == current_pid_namespace();
}

Liveness liveness(const ProcessIdentity &process) {
  if (process.pid <= 0) return Liveness::unknown;
  if (!process.is_local()) return Liveness::unknown;
  if (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Liveness::dead;
  // A number used again belongs to a process that started later.
  return start_ticks_of(process.pid) == process.start_ticks ? Liveness::alive : Liveness::dead;
}

OwnerLock OwnerLock::acquire(const fs::path &path) {
  Fd file = open_file(path, O_RDWR | O_CREAT, 0666);
  if (!lock(file, path))
    throw Error(Code::busy, "locking '" + path.string() + "': another process holds it");
  record_owner(file, path);
  return OwnerLock(std::move(file));
}

std::optional<OwnerLock> OwnerLock::take_over(const fs::path &path) {
  if (owner_liveness(path) != Liveness::dead) return std::nullopt;
  Fd file = open_file(path, O_RDWR | O_CREAT, 0666);
  if (lock(file, path)) {
    record_owner(file, path);
    return OwnerLock(std::move(file));
  }
  // A forked child of the dead owner holds the old file's lock. Put a fresh file in its place: of
  // several processes that try, the exclusive creation lets one through.
  const fs::path next = path.string() + ".next";
  const int fd = open(next.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    // One who tried before us died in between: clear the way for the next attempt.
    if (owner_liveness(next) == Liveness::dead) unlink(next.c_str());
    return std::nullopt;
  }
  Fd fresh(fd);
  if (!lock(fresh, next)) return std::nullopt;
  record_owner(fresh, next);
  if (rename(next.c_str(), path.c_str()) != 0)
    throw_errno(errno, "renaming to '" + path.string() + "'");
  return OwnerLock(std::move(fresh));
}

Liveness owner_liveness(const fs::path &path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return Liveness::dead;
  if (fd < 0) return Liveness::unknown;
  const Fd file(fd);
  const std::optional<ProcessIdentity> owner = recorded_owner(path);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
    // Free, or the owner is between making the file and locking it: then it is not yet named.
    flock(fd, LOCK_UN);
    return owner && liveness(*owner) == Liveness::alive ? Liveness::alive : Liveness::dead;
  }
  return owner ? (liveness(*owner) == Liveness::dead ? Liveness::dead : Liveness::alive)
               : Liveness::alive;
}

}  // namespace det
