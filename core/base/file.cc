#include "core/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "core/base/error.h"
#include "core/base/uuid.h"

namespace det {

namespace fs = std::filesystem;

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

KnownFd::KnownFd(Fd fd) noexcept : fd_(std::move(fd)) {
  struct stat about {};
  if (!fd_ || fstat(fd_.get(), &about) != 0) return;  // and errno stays
  device_ = about.st_dev;
  inode_ = about.st_ino;
}

KnownFd &KnownFd::operator=(KnownFd &&other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

KnownFd::~KnownFd() {
  if (!is_ours()) fd_.release();
}

bool KnownFd::is_ours() const noexcept {
  struct stat about {};
  return fd_ && fstat(fd_.get(), &about) == 0 && about.st_dev == device_ && about.st_ino == inode_;
}

Fd open_file(const fs::path &path, int flags, unsigned mode) {
  for (;;) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode));
    if (fd >= 0) return Fd(fd);
    if (errno != EINTR) OsFailure{errno}.raise("opening '" + path.string() + "'");
  }
}

std::string read_file(const fs::path &path) {
  return read_all(open_file(path, O_RDONLY).get(), path.string());
}

std::string read_all(int fd, const std::string &name) {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading '" + name + "'");
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(got));
  }
}

void write_all(int fd, std::string_view bytes, const std::string &name) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) OsFailure{errno}.raise("writing '" + name + "'");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
}

void write_file_durably(const fs::path &path, std::string_view text, unsigned mode) {
  const fs::path aside = path.parent_path() / ("." + path.filename().string() + "." + make_uuid());
  try {
    const Fd file = open_file(aside, O_WRONLY | O_CREAT | O_EXCL, mode);
    write_all(file.get(), text, aside.string());
    if (fsync(file.get()) != 0) OsFailure{errno}.raise("syncing '" + aside.string() + "'");
    if (rename(aside.c_str(), path.c_str()) != 0)
      OsFailure{errno}.raise("renaming to '" + path.string() + "'");
  } catch (...) {
    unlink(aside.c_str());
    throw;
  }
  sync_directory(path.parent_path());
}

std::vector<std::string> entry_names(const fs::path &path) {
  const std::unique_ptr<DIR, int (*)(DIR *)> open(opendir(path.c_str()), closedir);
  if (!open && errno == ENOENT) return {};
  const std::string tried = "listing '" + path.string() + "'";
  if (!open) OsFailure{errno}.raise(tried);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent *entry = readdir(open.get());
    if (entry == nullptr && errno != 0) OsFailure{errno}.raise(tried);
    if (entry == nullptr) return names;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

void sync_directory(const fs::path &path) {
  const Fd directory = open_file(path.empty() ? fs::path(".") : path, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a directory and say so; then there is nothing more to do.
  if (fsync(directory.get()) != 0 && errno != EINVAL)
    OsFailure{errno}.raise("syncing directory '" + path.string() + "'");
}

void make_directories(const fs::path &path, unsigned mode) {
  struct stat found {};
  if (path.empty() || (stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode))) return;
  make_directories(path.parent_path(), mode);
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return;
  const int reason = errno;
  if (reason == EEXIST && stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return;
  OsFailure{reason == EEXIST ? ENOTDIR : reason}.raise("making directory '" + path.string() + "'");
}

bool on_network_filesystem(const fs::path &path) {
  struct statfs about {};
  if (statfs(path.c_str(), &about) != 0)
    OsFailure{errno}.raise("looking at the file system of '" + path.string() + "'");
  static constexpr std::array<uint32_t, 12> network{
      0x6969,      // NFS
      0x517B,      // SMB
      0xFE534D42,  // SMB2
      0xFF534D42,  // CIFS
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x19830326,  // BeeGFS
      0x00C36400,  // Ceph
      0x5346414F,  // AFS
      0x01021997,  // 9P
      0xAAD7AAEA,  // PanFS
      0x65735546,  // FUSE, which does not tell whether sshfs or a disk is behind it
  };
  return std::find(network.begin(), network.end(), static_cast<uint32_t>(about.f_type)) !=
         network.end();
}

bool is_full(const fs::path &directory) {
  constexpr size_t some = 65'536;
  const fs::path path = directory / (".space-" + make_uuid());
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  int reason = file ? 0 : errno;
  if (file) {
    unlink(path.c_str());
    // Some find out only when it is to be on the disk.
    if (write(file.get(), std::string(some, 0).data(), some) < 0 || fsync(file.get()) != 0)
      reason = errno;
  }
  return reason == ENOSPC || reason == EDQUOT;
}

fs::path normal_path(const fs::path &path) {
  const fs::path tidy = path.lexically_normal();
  return tidy.has_filename() || tidy == tidy.root_path() ? tidy : tidy.parent_path();
}

bool is_below(const fs::path &path, const fs::path &root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end()).first == root.end();
}

fs::path home_directory() {
  const char *home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    const passwd *user = getpwuid(getuid());
    home = user != nullptr ? user->pw_dir : nullptr;
  }
  return home != nullptr ? home : "";
}

fs::path user_data_directory() {
  const char *data = std::getenv("XDG_DATA_HOME");
  if (data != nullptr && *data != '\0') return fs::path(data) / "determined";
  const fs::path home = home_directory();
  if (home.empty())
    throw Error(
        Code::not_found,
        "looking for the user data directory: HOME is not set; set DET_HOME to a directory");
  return home / ".local/share/determined";
}

}  // namespace det
