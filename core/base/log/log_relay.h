// Log lines to a callback of the host, which may be slow, or need the very thread that waits inside
// the library.
#pragma once

#include <memory>

#include "core/base/log/log.h"

namespace det {

// The callback is never on two threads at once, and the lines come in order. A thread of the host's
// calls it at once, unless it is being called elsewhere; threads of ours leave it to one of its
// own, which is there while lines come.
class LogRelay : public LogOutlet {
 public:
  explicit LogRelay(LogCallback callback);
  ~LogRelay() override;  // as end(), with little patience
  LogRelay(const LogRelay &) = delete;
  LogRelay &operator=(const LogRelay &) = delete;

  void write(LogLevel level, std::string_view text, const LogOrigin &origin) noexcept override;
  void flush(std::chrono::milliseconds patience) noexcept override;
  // Lets the callback go as well, with what it holds.
  void end(std::chrono::milliseconds patience) noexcept override;

 private:
  struct State;  // of the thread as well, which may be inside of the callback for good

  std::shared_ptr<State> state_;
};

}  // namespace det
