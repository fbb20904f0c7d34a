// Tells when processes end, and whose they are.
#pragma once

#include <cstdint>
#include <set>

#include "core/base/file.h"
#include "core/base/wake.h"

namespace det::launcher {

class ProcessWatch {
 public:
  ProcessWatch();

  // Readable while there is something to take.
  int fd() const { return news_.get(); }

  // `owner` is not negative.
  void add(const Fd &process, int64_t owner);
  void remove(const Fd &process);
  // Has an owner taken whose process had ended before it could be watched.
  void announce(int64_t owner);

  // The owners of processes that have ended and are still watched, and those announced since.
  std::set<int64_t> take();

 private:
  Fd news_;  // an epoll of all processes watched, and of the next
  Wake announced_;
  std::set<int64_t> owners_announced_;
};

}  // namespace det::launcher
