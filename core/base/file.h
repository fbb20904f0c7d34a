// Files written so that a crash leaves the old or the new, and the few calls around that.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det {

// An open file descriptor, closed with its owner. Everything we open is close-on-exec.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd &operator=(Fd &&other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd &) = delete;
  Fd &operator=(const Fd &) = delete;
  ~Fd();

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }  // the caller closes it
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// One that the host may close, and whose number it may then give to a file of its own, as code does
// that makes a daemon of its process: that file is neither used nor closed.
class KnownFd {
 public:
  KnownFd() = default;
  explicit KnownFd(Fd fd) noexcept;
  KnownFd(KnownFd &&other) noexcept { *this = std::move(other); }
  KnownFd &operator=(KnownFd &&other) noexcept;
  KnownFd(const KnownFd &) = delete;
  KnownFd &operator=(const KnownFd &) = delete;
  ~KnownFd();

  // -1 where it is closed, or another file has its number.
  int get() const noexcept { return is_ours() ? fd_.get() : -1; }
  bool is_ours() const noexcept;
  int number() const noexcept { return fd_.get(); }
  // Whether there ever was one.
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  Fd fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Unless more is asked for, nothing is made that everybody may write, whatever the umask.
inline constexpr unsigned default_file_mode = 0664;
inline constexpr unsigned default_directory_mode = 0775;

// open(2) with O_CLOEXEC; throws, naming the path.
Fd open_file(const std::filesystem::path &path, int flags, unsigned mode = default_file_mode);

std::string read_file(const std::filesystem::path &path);

// From where `fd` stands to its end; `name` is for the error.
std::string read_all(int fd, const std::string &name);

// Writes all of `bytes` to `fd`; `name` is for the error.
void write_all(int fd, std::string_view bytes, const std::string &name);

// Replaces `path` by `text`: written aside, synced, renamed, directory synced.
void write_file_durably(const std::filesystem::path &path, std::string_view text,
                        unsigned mode = default_file_mode);

// The names in a directory, in no certain order; none when it is not there. The standard library's
// iterators end the process where there is no memory.
std::vector<std::string> entry_names(const std::filesystem::path &path);

// fsync(2) on a directory, so that names made or renamed in it survive a power cut.
void sync_directory(const std::filesystem::path &path);

// mkdir -p; throws, naming the part that failed.
void make_directories(const std::filesystem::path &path, unsigned mode = default_directory_mode);

// Whether a small file cannot be written there for want of space: one is, and removed.
bool is_full(const std::filesystem::path &directory);

// Whether the file system of `path` lives on another machine (NFS, SMB, Lustre, ...), or may.
bool on_network_filesystem(const std::filesystem::path &path);

// lexically_normal() without the '/' that it keeps at the end.
std::filesystem::path normal_path(const std::filesystem::path &path);

// Whether `path` is `root` or in it, by their names. Both must be normal.
bool is_below(const std::filesystem::path &path, const std::filesystem::path &root);

// $HOME, else what the user database says; empty when it says nothing.
std::filesystem::path home_directory();

// $XDG_DATA_HOME/determined, else ~/.local/share/determined.
std::filesystem::path user_data_directory();

}  // namespace det
