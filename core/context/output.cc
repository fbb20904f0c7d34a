#include "core/context/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/base/line_queue.h"
#include "core/base/thread.h"
#include "core/context/log_line.h"
#include "core/context/passed_stream.h"

namespace det::context {

namespace {

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
