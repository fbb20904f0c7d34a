// How a run learns that it was asked to stop.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/base/wake.h"
#include "core/engine/store.h"

namespace det::engine {

// Records that a run was asked to stop; the first reason stays. The caller holds a transaction, and
// wakes the run after it.
void record_signal(Database &store, int64_t trial_id, int64_t run_id, std::string_view reason);

// Waits at a run's FIFO. Whatever comes through it, the store says whether there is a signal, so
// that a lost or a stray byte does no harm.
class SignalWatch {
 public:
  // `store` is that of the run, and must outlive it.
  SignalWatch(Store &store, const std::filesystem::path &run_directory, int64_t trial_id,
              int64_t run_id);

  // Until there is a signal (true) or `wake` is set (false). One thread at a time.
  bool wait(const Wake &wake);

  // There is a signal, whatever the store says. Any thread.
  void raise();

 private:
  bool signalled();

  Store &store_;
  const int64_t trial_id_;
  const int64_t run_id_;
  std::chrono::milliseconds recheck_;
  KnownFd fifo_;
  Wake raised_;
  std::atomic<bool> is_raised_{false};
  // Of the thread that waits.
  bool has_news_ = true;  // until it has looked
  bool is_first_look_ = true;
  // A connection of its own, opened with the second look: the run's may be busy storing reports.
  std::optional<Database> own_;
  int64_t data_version_ = -1;
};

}  // namespace det::engine
