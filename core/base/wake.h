// Wakes a thread that waits in poll(2). Setting it is async-signal-safe.
#pragma once

#include "core/base/file.h"

namespace det {

class Wake {
 public:
  Wake();
  int fd() const { return fd_.get(); }  // readable while set
  void set() const noexcept;
  void clear() const noexcept;

 private:
  Fd fd_;
};

}  // namespace det
