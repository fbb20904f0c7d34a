#include "wrappers/cli/text/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

namespace {

constexpr size_t buffer_size = 1 << 16;
constexpr std::array ending_signals = {SIGINT, SIGTERM, SIGHUP};

// For the signal handler: the file that is not finished, or an empty text.
std::array<char, PATH_MAX> unfinished{};

void leave_no_half_file(const std::string &path) {
  std::copy_n(path.c_str(), std::min(path.size() + 1, unfinished.size() - 1), unfinished.begin());
  for (const int number : ending_signals)
    std::signal(number, [](int ending) {
      unlink(unfinished.data());
      std::signal(ending, SIG_DFL);
      raise(ending);
    });
}

void forget_half_file() {
  for (const int number : ending_signals) std::signal(number, SIG_DFL);
  unfinished[0] = '\0';
}

[[noreturn]] void fail_to_write(const std::string &path, int error) {
  throw Failure(ExitCode::io, "writing '" + path + "': " + std::strerror(error) +
                                  "; choose another file or make room");
}

}  // namespace

OutputFile::OutputFile(const std::string &path) : path_(path) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::is_directory(status)) fail_to_write(path, EISDIR);
  int flags = O_WRONLY | O_CLOEXEC;
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) {
    if (std::filesystem::exists(status)) path_ = std::filesystem::canonical(path, unknown);
    aside_ = path_ + "." + std::to_string(getpid()) + ".part";
    flags |= O_CREAT | O_EXCL;
  }
  file_ = Fd(open((aside_.empty() ? path_ : aside_).c_str(), flags, default_file_mode));
  if (!file_) {
    const int error = errno;
    aside_.clear();
    fail_to_write(path, error);
  }
  if (!aside_.empty()) leave_no_half_file(aside_);
}

OutputFile::~OutputFile() {
  if (aside_.empty()) return;
  unlink(aside_.c_str());
  forget_half_file();
}

void OutputFile::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= buffer_size) flush();
}

void OutputFile::finish() {
  flush();
  if (aside_.empty()) return;
  if (fsync(file_.get()) != 0 || std::rename(aside_.c_str(), path_.c_str()) != 0)
    fail_to_write(path_, errno);
  forget_half_file();
  aside_.clear();
}

void OutputFile::flush() {
  for (std::string_view rest = buffer_; !rest.empty();) {
    const ssize_t written = ::write(file_.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) throw OutputClosed{};
    if (written < 0) fail_to_write(path_, errno);
    rest.remove_prefix(static_cast<size_t>(written));
  }
  buffer_.clear();
}

}  // namespace det::cli
