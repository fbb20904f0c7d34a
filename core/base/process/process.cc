#include "core/base/process/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/base/uuid.h"

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

// Field 22 of /proc/PID/stat; 0 for a zombie, nothing when there is none. The name in field 2 may
// hold anything, so count from its last ')'.
std::optional<uint64_t> start_ticks_in(const std::string &stat) {
  size_t at = stat.rfind(')');
  if (at == stat.npos) return std::nullopt;
  if (stat.compare(at, 3, ") Z") == 0) return 0;
  for (int field = 2; at != stat.npos && field < 22; ++field) at = stat.find(' ', at + 1);
  if (at == stat.npos) return std::nullopt;
  return std::strtoull(stat.c_str() + at + 1, nullptr, 10);
}

fs::path stat_path(int64_t pid) { return "/proc/" + std::to_string(pid) + "/stat"; }

// Where it cannot be read the process is there, for all that anybody knows: who took it for gone
// would take what it owns.
uint64_t start_ticks_or_throw(int64_t pid) {
  try {
    return start_ticks_in(read_file(stat_path(pid))).value_or(0);
  } catch (const Error &error) {
    // The latter two of a process that belongs to another user.
    for (const int gone : {ENOENT, ESRCH, EACCES, EPERM})
      if (error.os_errno == gone) return 0;
    throw;
  }
}

uint64_t current_pid_namespace() {
  struct stat about {};
  return stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

// A lock of the open file, which unlike flock(2) can be looked at without taking it for a moment.
struct flock whole_file() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

bool lock(const Fd &file, const fs::path &path) {
  struct flock range = whole_file();
  while (fcntl(file.get(), F_OFD_SETLK, &range) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) OsFailure{errno}.raise("locking '" + path.string() + "'");
  }
  return true;
}

bool is_locked(const Fd &file) {
  struct flock range = whole_file();
  return fcntl(file.get(), F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

std::optional<ProcessIdentity> recorded_owner(const Fd &file) {
  std::array<char, 4096> text{};
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  if (size <= 0) return std::nullopt;
  try {
    const std::string_view json(text.data(), static_cast<size_t>(size));
    return ProcessIdentity::from_json(parse_json_object(json, "the owner of a lock"));
  } catch (const std::exception &) {
    return std::nullopt;
  }
}

// A lock file under a name of its own: whoever sees it under its final name sees it locked and with
// its owner in it.
class FreshLock {
 public:
  explicit FreshLock(const fs::path &path)
      : path_(path),
        aside_(path.parent_path() / ("." + make_uuid())),
        file_(open_file(aside_, O_RDWR | O_CREAT | O_EXCL, 0600)) {
    try {
      // Nobody else has it: what says so is the file system, and then the owner would look dead.
      if (!lock(file_, aside_)) OsFailure{EAGAIN}.raise("locking '" + aside_.string() + "'");
      write_all(file_.get(), to_wire(ProcessIdentity::current().to_json()) + "\n", aside_.string());
    } catch (...) {
      unlink(aside_.c_str());
      throw;
    }
  }
  ~FreshLock() { unlink(aside_.c_str()); }
  FreshLock(const FreshLock &) = delete;
  FreshLock &operator=(const FreshLock &) = delete;

  // Gives it its name, unless that is taken. Not every file system has links, nor this renaming.
  bool place() {
    if (link(aside_.c_str(), path_.c_str()) == 0) return true;
    if (errno != EEXIST &&
        renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0)
      return true;
    if (errno == EEXIST) return false;
    OsFailure{errno}.raise("making '" + path_.string() + "'");
  }

  void replace() {
    if (rename(aside_.c_str(), path_.c_str()) != 0)
      OsFailure{errno}.raise("renaming to '" + path_.string() + "'");
  }

  Fd release() { return std::move(file_); }

 private:
  const fs::path path_;
  const fs::path aside_;
  Fd file_;
};

}  // namespace

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

ProcessIdentity ProcessIdentity::current() { return of(getpid()); }

ProcessIdentity ProcessIdentity::of(int64_t pid) {
  ProcessIdentity process;
  process.host = host_name();
  process.boot_id = read_or_empty("/proc/sys/kernel/random/boot_id");
  process.pid_namespace = current_pid_namespace();
  process.pid = pid;
  process.start_ticks = start_ticks_or_throw(pid);
  return process;
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
  if (process.pid <= 0 || !process.is_local()) return Liveness::unknown;
  const std::optional<uint64_t> ticks = start_ticks_in(read_or_empty(stat_path(process.pid)));
  if (kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return Liveness::dead;
  // It is there, but /proc hides the processes of other users.
  if (!ticks) return Liveness::unknown;
  // A number used again belongs to a process that started later; 0 is a zombie.
  return *ticks != 0 && ticks == process.start_ticks ? Liveness::alive : Liveness::dead;
}

OwnerLock OwnerLock::acquire(const fs::path &path) {
  FreshLock fresh(path);
  if (fresh.place()) return OwnerLock(fresh.release());
  if (std::optional<OwnerLock> taken = take_over(path)) return std::move(*taken);
  throw Error(Code::busy, "locking '" + path.string() + "': another process holds it");
}

std::optional<OwnerLock> OwnerLock::take_over(const fs::path &path) {
  if (owner_liveness(path) != Liveness::dead) return std::nullopt;
  // One at a time in a directory, and each looks again when it is its turn: what one has put in
  // place of a dead owner's file, the next must not replace. Each user takes over his own.
  const fs::path turn_path = path.parent_path() / (".take-over-" + std::to_string(geteuid()));
  const Fd turn = open_file(turn_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (!lock(turn, turn_path) || owner_liveness(path) != Liveness::dead) return std::nullopt;
  FreshLock fresh(path);
  if (!fresh.place()) fresh.replace();
  return OwnerLock(fresh.release());
}

uid_t OwnerLock::user() const {
  struct stat about {};
  if (fstat(file_.get(), &about) != 0) OsFailure{errno}.raise("looking at a lock file");
  return about.st_uid;
}

Liveness owner_liveness(const fs::path &path) {
  // Where others write too, a FIFO of this name must not make us wait, nor a link lead elsewhere.
  const Fd file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return errno == ENOENT ? Liveness::dead : Liveness::unknown;
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) return Liveness::unknown;
  if (!is_locked(file)) return Liveness::dead;
  const std::optional<ProcessIdentity> owner = recorded_owner(file);
  // Whose owner cannot be judged is alive: somebody holds the lock.
  return owner && liveness(*owner) == Liveness::dead ? Liveness::dead : Liveness::alive;
}

UnsharedFd wait_for_lock(const fs::path &path) {
  UnsharedFd file(open_file(path, O_RDWR | O_CREAT, 0600));
  while (flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) OsFailure{errno}.raise("locking '" + path.string() + "'");
  return file;
}

}  // namespace det
