#include "core/context/process/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/log/line_queue.h"
#include "core/base/process/unshared_fd.h"
#include "core/base/thread.h"
#include "core/base/wake.h"
#include "core/context/process/log_line.h"

namespace det::context {

// A pipe in place of a file descriptor, and the thread that passes on what comes through it.
class PassedStream : public std::enable_shared_from_this<PassedStream> {
 public:
  using Take = std::function<void(std::string_view bytes)>;

  // `fd` is open. `take` sees all bytes after they have been passed on, until stop(); on another
  // thread.
  static std::shared_ptr<PassedStream> begin(int fd, Take take);

  // Puts the file descriptor back, unless the program has replaced it, and returns when `take` has
  // had what was written before, or after `limit`. Passing on ends with the last who writes.
  void stop(std::chrono::milliseconds limit);

 private:
  PassedStream(int fd, Take take);
  UnsharedFd replace();  // gives the pipe's reading end
  void restore();
  void run();
  size_t pass(size_t most, bool copied);              // 0: nobody writes, or nobody reads, any more
  bool pass_what_is_there();                          // false: then
  bool write_original(std::string_view bytes) const;  // false: nobody reads there any more

  const int fd_;
  const Take take_;
  const UnsharedFd original_;
  UnsharedFd reading_;  // of the thread: in a child the pipe would fill, since nobody empties it
  struct stat before_ {
  }, pipe_{};
  const Wake stopping_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool takes_ = true;
  bool drained_ = false;  // of what was written before stop()
  bool ended_ = false;
  std::thread thread_;
};

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

std::atomic<pid_t> capturing{0};  // which process; a forked child may have a capture of its own

// Else files of ours would be in their place, and be written to.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (fcntl(fd, F_GETFD) < 0) open("/dev/null", O_RDWR);
}

void flush_stdio() {
  std::fflush(stdout);
  std::fflush(stderr);
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

// At being the one capture of this process.
class CaptureTurn {
 public:
  CaptureTurn() {
    const pid_t self = getpid();
    pid_t other = capturing.load();
    if (other == self || !capturing.compare_exchange_strong(other, self))
      throw Error(Code::state,
                  "capturing the output of this process: it is being captured already; close the "
                  "core that does so, or ask for it in one core only");
  }
  CaptureTurn(const CaptureTurn &) = delete;
  CaptureTurn &operator=(const CaptureTurn &) = delete;
  ~CaptureTurn() { capturing.store(0); }
};

struct OutputCapture::State {
  auto push() {
    return [this](std::string_view line) { lines.push(level_of(line), line); };
  }

  void begin(Sink sink) {
    sink_thread = start_thread("det-lines", [this, sink = std::move(sink)] { lines.drain(sink); });
    try {
      open_standard_streams();
      flush_stdio();
      // A pipe would change how stdio writes to what was a terminal.
      if (isatty(STDOUT_FILENO) != 0) std::setvbuf(stdout, nullptr, _IOLBF, 0);
      for (Stream &stream : streams)
        stream.passed = PassedStream::begin(stream.fd, [this, &stream](std::string_view bytes) {
          stream.cutter.add(bytes, push());
        });
    } catch (...) {
      end(std::chrono::milliseconds(0));
      throw;
    }
  }

  void end(std::chrono::milliseconds limit) {
    if (!sink_thread.joinable()) return;  // not begun, or ended
    flush_stdio();
    for (Stream &stream : streams) {
      if (!stream.passed) continue;
      stream.passed->stop(limit);
      stream.cutter.finish(push());
    }
    lines.end();
    sink_thread.join();
  }

  struct Stream {
    int fd;
    LineCutter cutter{};  // of the thread that passes on, until it has stopped
    std::shared_ptr<PassedStream> passed{};
  };

  CaptureTurn turn;
  LineQueue lines{"WARNING: detcore: ", "of output were not copied: they came too fast"};
  std::array<Stream, 2> streams{Stream{STDOUT_FILENO}, Stream{STDERR_FILENO}};
  std::thread sink_thread;
};

OutputCapture::OutputCapture() : state_(std::make_unique<State>()) {}

void OutputCapture::begin(Sink sink) { state_->begin(std::move(sink)); }

OutputCapture::~OutputCapture() { stop(); }

void OutputCapture::stop(std::chrono::milliseconds limit) {
  if (!state_) return;
  // The threads, and what passes through, are the parent's.
  if (fork_guard_.in_child()) static_cast<void>(state_.release());
  else state_->end(limit);
  state_.reset();
}

}  // namespace det::context
