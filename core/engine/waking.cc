#include "core/engine/waking.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/fifo.h"
#include "core/base/uuid.h"
#include "core/engine/experiment.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds with_fifo{1000};
constexpr milliseconds longest_without_fifo{10};

// Has a FIFO of its own in `directory` while it waits, where there can be one.
class FifoListener : public Listener {
 public:
  // `heard`: whether those who write to the store are on this machine.
  FifoListener(const std::filesystem::path &directory, bool heard,
               std::chrono::milliseconds recheck);
  ~FifoListener() override;
  void wait(std::chrono::milliseconds limit) override;

 private:
  std::filesystem::path path_;
  KnownFd fifo_;
  std::chrono::milliseconds pause_;
  std::chrono::milliseconds longest_pause_;
};

// Wakes all who have one there.
void wake_fifo_listeners(const std::filesystem::path &directory);

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

class FifoWaking : public Waking {
 public:
  FifoWaking(std::filesystem::path store_directory, FifoWakingOptions options)
      : store_directory_(std::move(store_directory)), options_(std::move(options)) {}

  void wake_run(int64_t trial_id, int64_t run_id) const override {
    journal::wake_ranks(store_directory_, trial_id, run_id);
  }
  void wake_supervisor(int64_t experiment_id) const override {
    det::engine::wake_supervisor(store_directory_, experiment_id);
  }

  void wake_listeners(int64_t experiment_id) const override {
    wake_fifo_listeners(listeners_directory(store_directory_, experiment_id));
  }
  std::unique_ptr<Listener> listen(int64_t experiment_id) const override {
    return std::make_unique<FifoListener>(listeners_directory(store_directory_, experiment_id),
                                          !options_.on_network(store_directory_), options_.recheck);
  }

 private:
  const std::filesystem::path store_directory_;
  const FifoWakingOptions options_;
};

}  // namespace

std::unique_ptr<Waking> make_fifo_waking(const std::filesystem::path &store_directory,
                                         FifoWakingOptions options) {
  return std::make_unique<FifoWaking>(store_directory, std::move(options));
}

}  // namespace det::engine
