// Log lines that the host takes on a thread of its own.
#pragma once

#include <mutex>
#include <optional>
#include <string_view>

#include "core/base/log/line_queue.h"
#include "core/base/log/log.h"
#include "core/base/wake.h"

namespace det {

class LogQueue : public LogOutlet {
 public:
  void write(LogLevel level, std::string_view text, const LogOrigin &origin) noexcept override;
  std::optional<LogLine> take();
  void close();                             // nobody takes lines any more: they are dropped
  int fd() const { return waiting_.fd(); }  // readable while lines wait

 private:
  std::mutex mutex_;  // of lines and wake together
  LineQueue lines_{"", "of the log were left out: nobody took them"};
  bool closed_ = false;
  const Wake waiting_;
};

}  // namespace det
