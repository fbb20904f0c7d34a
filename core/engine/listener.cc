#include "core/engine/listener.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/fifo.h"
#include "core/base/uuid.h"

namespace det::engine {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds with_fifo{1000};
constexpr milliseconds longest_without_fifo{10};

}  // namespace

FifoListener::FifoListener(const fs::path &directory, bool heard, milliseconds recheck)
    : pause_(recheck.count() > 0 ? recheck : with_fifo), longest_pause_(pause_) {
  if (heard) {
    make_directories(directory, 0700);
    const std::string name = make_uuid();
    // It gets its name when somebody waits at it: whoever finds one without takes it for left over.
    const fs::path unfinished = directory / ("." + name);
    path_ = directory / name;
    if (make_fifo(unfinished)) {
      fifo_ = open_fifo(unfinished);
      if (rename(unfinished.c_str(), path_.c_str()) != 0) fifo_ = KnownFd();
    }
  }
  if (fifo_) return;
  pause_ = milliseconds(1);
  longest_pause_ = std::min(longest_pause_, longest_without_fifo);
}

FifoListener::~FifoListener() {
  if (fifo_) unlink(path_.c_str());
}

void FifoListener::wait(milliseconds limit) {
  pollfd news{fifo_.get(), POLLIN, 0};
  if (poll(&news, 1, static_cast<int>(std::min(pause_, limit).count())) < 0 && errno != EINTR)
    OsFailure{errno}.raise("waiting for an answer of the search");
  drain_fifo(fifo_);
  pause_ = std::min(pause_ * 2, longest_pause_);
}

void wake_fifo_listeners(const fs::path &directory) {
  std::error_code absent;
  if (!fs::exists(directory, absent)) return;
  for (const std::string &name : entry_names(directory)) {
    const fs::path path = directory / name;
    if (name.starts_with('.') || wake_fifo(path)) continue;
    if (errno == ENXIO) unlink(path.c_str());
  }
}

}  // namespace det::engine
