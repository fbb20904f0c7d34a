#include "core/engine/runs/signal_watch.h"

#include "core/base/clock.h"
#include "core/base/process/fifo.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

// Told by other machines, or by a process that died between storing a signal and the FIFO.
constexpr milliseconds local_recheck{5000};
constexpr milliseconds network_recheck{1000};

}  // namespace

void record_signal(Database &store, int64_t trial_id, int64_t run_id, std::string_view reason) {
  store.run(
      "INSERT INTO signals (trial_id, run_id, reason, time) VALUES (?, ?, ?, ?)"
      " ON CONFLICT DO NOTHING",
      trial_id, run_id, reason, now_us());
}

SignalWatch::SignalWatch(Store &store, const fs::path &run_directory, int64_t trial_id,
                         int64_t run_id)
    : store_(store),
      trial_id_(trial_id),
      run_id_(run_id),
      recheck_(store.options().recheck),
      fifo_(open_fifo(journal::signal_file(run_directory))) {
  if (recheck_.count() > 0) return;
  const bool slow = !fifo_ || store.options().on_network(store.directory());
  recheck_ = slow ? network_recheck : local_recheck;
}

void SignalWatch::raise() {
  is_raised_ = true;
  raised_.set();
}

bool SignalWatch::wait(const Wake &wake) {
  for (;;) {
    if (has_news_) {
      drain_fifo(fifo_);
      if (!is_raised_ && signalled()) return true;
      has_news_ = false;
    }
    if (is_raised_) return true;
    pollfd news{fifo_.get(), POLLIN, 0};
    if (wake.poll({&news, 1}, recheck_, &raised_)) return is_raised_;
    has_news_ = true;
  }
}

bool SignalWatch::signalled() {
  const auto is_in = [this](Database &store) {
    return store.query("SELECT 1 FROM signals WHERE trial_id=? AND run_id=?", trial_id_, run_id_)
        .next();
  };
  // A run that starts is not busy, and one that ends soon needs no second connection.
  if (is_first_look_) {
    is_first_look_ = false;
    const auto guard = store_.lock();
    return is_in(store_.database());
  }
  if (!own_) own_.emplace(open_store(store_.directory(), false, store_.options()));
  // Cheap, and changes with every write of another connection.
  const int64_t version = own_->data_version();
  if (version == data_version_) return false;
  const bool found = is_in(*own_);
  data_version_ = version;
  return found;
}

}  // namespace det::engine
