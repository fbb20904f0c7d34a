// What this process writes to its standard output and standard error, line by line, for who asked
// for that.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "core/base/log/log.h"
#include "core/base/process/fork_guard.h"

namespace det::context {

// From begin() on, pipes stand in for file descriptors 1 and 2: what this process, the native code
// in it and its children write passes through to where it went before, at once, and its lines go to
// a sink as well. Programs find no terminal there meanwhile. One that was closed is /dev/null from
// then on.
//
// Children that are still running at stop() go on writing into the pipe, and what they write goes
// on passing through, uncopied, as long as this process lives. After it they get SIGPIPE. What is
// in the pipe when this process is killed is lost.
class OutputCapture {
 public:
  // Called on one thread, line after line; without line breaks, at most 64 KiB of a line at a time.
  // It holds up nobody but stop(), and what it throws is ignored; but when 8 MiB of lines wait for
  // it, more are left out, and a line says how many. What it writes to these streams comes back to
  // it.
  using Sink = std::function<void(LogLevel level, std::string_view line)>;

  // Throws Code::state while there is another one in this process.
  OutputCapture();
  explicit OutputCapture(Sink sink) : OutputCapture() { begin(std::move(sink)); }
  ~OutputCapture();  // as stop()
  OutputCapture(const OutputCapture &) = delete;
  OutputCapture &operator=(const OutputCapture &) = delete;

  void begin(Sink sink);  // once

  // Puts everything back and waits until the sink has had all that was written before, for at most
  // `limit` where nobody reads what passes through. Again, and in a forked child: nothing.
  void stop(std::chrono::milliseconds limit = std::chrono::minutes(1));

 private:
  struct State;

  ForkGuard fork_guard_;
  std::unique_ptr<State> state_;
};

}  // namespace det::context
