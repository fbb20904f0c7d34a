#include "core/context/passed_stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <exception>
#include <string>

#include "core/base/error.h"
#include "core/base/thread.h"

namespace det::context {

namespace {

// Whether the descriptor still is what it was: a host may have closed it, and opened another.
bool is(int fd, const struct stat &before) {
  struct stat now {};
  return fstat(fd, &now) == 0 && now.st_dev == before.st_dev && now.st_ino == before.st_ino;
}

// poll(2) without an end by a signal; whether there is something of `events`, or no other side.
bool wait_for(pollfd *watched, nfds_t count, int patience) {
  int ready;
  do ready = poll(watched, count, patience);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace

std::shared_ptr<PassedStream> PassedStream::begin(int fd, Take take) {
  const std::shared_ptr<PassedStream> stream(new PassedStream(fd, std::move(take)));
  stream->reading_ = stream->replace();
  try {
    stream->thread_ = start_thread("det-output", [stream] { stream->run(); });
  } catch (...) {
    stream->restore();
    throw;
  }
  return stream;
}

PassedStream::PassedStream(int fd, Take take)
    : fd_(fd), take_(std::move(take)), original_(Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0))) {
  if (!original_ || fstat(original_.get(), &before_) != 0)
    OsFailure{errno}.raise("copying file descriptor " + std::to_string(fd));
}

UnsharedFd PassedStream::replace() {
  const std::string tried = "putting a pipe in place of file descriptor " + std::to_string(fd_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) OsFailure{errno}.raise(tried);
  UnsharedFd reading{Fd(ends[0])};
  const Fd writing(ends[1]);
  if (dup2(writing.get(), fd_) < 0 || fstat(fd_, &pipe_) != 0) OsFailure{errno}.raise(tried);
  return reading;
}

void PassedStream::restore() {
  if (is(fd_, pipe_) && is(original_.get(), before_)) dup2(original_.get(), fd_);
}

void PassedStream::stop(std::chrono::milliseconds limit) {
  restore();
  stopping_.set();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [this] { return drained_; });
  takes_ = false;
  const bool ended = ended_;
  lock.unlock();
  if (ended) thread_.join();
  else thread_.detach();
}

void PassedStream::run() {
  bool goes_on = true;
  while (goes_on) {
    pollfd reading{reading_.get(), POLLIN, 0};
    if (stopping_.poll({&reading, 1}, std::chrono::hours(1))) break;
    if (reading.revents == 0) continue;
    goes_on = pass(SIZE_MAX, true) > 0;
  }
  goes_on = goes_on && pass_what_is_there();
  {
    const std::lock_guard lock(mutex_);
    drained_ = true;
    ended_ = !goes_on;
    changed_.notify_all();
  }
  while (goes_on) goes_on = pass(SIZE_MAX, false) > 0;
  // Who writes into it now learns of that as without us.
  reading_ = UnsharedFd();
}

bool PassedStream::pass_what_is_there() {
  int left = 0;
  ioctl(reading_.get(), FIONREAD, &left);
  while (left > 0) {
    const size_t passed = pass(static_cast<size_t>(left), true);
    if (passed == 0) return false;
    left -= static_cast<int>(passed);
  }
  pollfd watched = {reading_.get(), POLLIN, 0};
  return !wait_for(&watched, 1, 0) || (watched.revents & POLLIN) != 0;
}

size_t PassedStream::pass(size_t most, bool copied) {
  std::array<char, 65536> buffer;
  if (!is(reading_.get(), pipe_) || !is(original_.get(), before_)) return 0;
  ssize_t got;
  do got = read(reading_.get(), buffer.data(), std::min(most, buffer.size()));
  while (got < 0 && errno == EINTR);
  if (got <= 0) return 0;
  const std::string_view bytes(buffer.data(), static_cast<size_t>(got));
  const bool read_there = write_original(bytes);
  try {
    const std::lock_guard lock(mutex_);
    if (copied && takes_) take_(bytes);
  } catch (const std::exception &) {
    // No memory for the copy: passing on goes on.
  }
  return read_there ? bytes.size() : 0;
}

bool PassedStream::write_original(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = write(original_.get(), bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      pollfd watched = {original_.get(), POLLOUT, 0};
      wait_for(&watched, 1, -1);
    } else if (errno != EINTR) {
      return errno != EPIPE;
    }
  }
  return true;
}

}  // namespace det::context
