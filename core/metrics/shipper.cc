#include "core/metrics/shipper.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/thread.h"

namespace det {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct Failure {
  std::string message;
  bool passing;  // of a kind that goes away by itself
};

bool goes_away(Code code) {
  switch (code) {
    case Code::busy:
    case Code::unavailable:
    case Code::full:
    case Code::io:
    case Code::timeout:
      return true;
    default:
      return false;
  }
}

// Beyond a year a wait is without limit; later times would overflow the clock.
steady_clock::time_point after(milliseconds timeout) {
  return steady_clock::now() +
         std::clamp(timeout, milliseconds{0}, milliseconds{365LL * 86400'000});
}

}  // namespace

struct Shipper::State {
  State(Spool &spool, ReportSink &sink, std::shared_ptr<Logger> logger, Observer observer,
        const ShipperOptions &options)
      : spool(spool),
        sink(sink),
        logger(std::move(logger)),
        observer(std::move(observer)),
        options(options),
        delivered(spool.read_position()) {}

  Spool &spool;
  ReportSink &sink;
  const std::shared_ptr<Logger> logger;
  const Observer observer;
  const ShipperOptions options;

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t delivered;  // everything below is with the sink
  bool hurry = false;  // try now, however long the pause
  bool finished = false;
  bool complete = false;
  std::optional<steady_clock::time_point> stop_at;
  std::string failure;
  std::optional<std::string> conflict;
  uint64_t more_conflicts = 0;

  std::mutex joining;
  std::thread thread;

  // The thread's own.
  std::vector<Report> batch;
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(now_us())};
  uint64_t known_damage = 0;
  std::optional<steady_clock::time_point> last_report;

  void run() {
    for (bool going = true; going;) {
      try {
        going = work();
      } catch (const std::exception &error) {  // no memory; nothing was lost
        logger->error(std::string("shipping reports: ") + error.what());
        spool.wait(options.interval);
        going = !late();
      }
    }
    const std::lock_guard lock(mutex);
    complete = spool.drained();
    finished = true;
    changed.notify_all();
  }

  // Ships what there is, else waits for more. False at the end.
  bool work() {
    const size_t count = spool.read(batch, options.batch_reports, options.batch_bytes);
    if (count > 0) {
      spool.prepare();
      last_report = steady_clock::now();
      if (!deliver({batch.data(), count})) return false;
    }
    spool.release();
    tell_damage();
    tell_delivered(spool.read_position());
    if (count > 0) return true;
    if (over()) return false;
    const bool idle = !last_report || steady_clock::now() - *last_report >= options.idle;
    spool.wait(idle && !stopping() ? std::nullopt : std::optional(options.interval));
    return true;
  }

  // Until the sink has them. False when stopped before.
  bool deliver(std::span<const Report> reports) {
    milliseconds pause = options.retry_first;
    for (bool first = true; !late(); first = false) {
      const std::optional<Failure> failed = attempt(reports);
      note(failed);
      if (first) observe(reports);
      if (!failed) return true;
      rest(pause);
      pause = std::min(pause * 2, options.retry_limit);
    }
    return false;
  }

  std::optional<Failure> attempt(std::span<const Report> reports) {
    try {
      const Delivery delivery = sink.deliver(spool.key(), reports);
      for (const std::string &message : delivery.conflicts) note_conflict(message);
      return std::nullopt;
    } catch (const Error &error) {
      return Failure{error.what(), goes_away(error.code)};
    } catch (const std::exception &error) {
      return Failure{error.what(), false};
    }
  }

  void observe(std::span<const Report> reports) {
    if (!observer) return;
    try {
      observer(reports);
    } catch (const std::exception &error) {
      logger->warning(std::string("writing reports for plots: ") + error.what());
    }
  }

  // Records how an attempt went, and tells of the first failure in a row and of its end.
  void note(const std::optional<Failure> &failed) {
    std::string before;
    {
      const std::lock_guard lock(mutex);
      before = std::exchange(failure, failed ? failed->message : "");
    }
    spool.set_keeping_up(!failed);
    if (!failed && !before.empty()) logger->info("the master takes reports again");
    if (!failed || !before.empty() || late()) return;
    logger->write(failed->passing ? LogLevel::warning : LogLevel::error,
                  "delivering reports: " + failed->message +
                      "; they wait in the journal, and are "
                      "sent again until the master takes them");
  }

  void note_conflict(const std::string &message) {
    logger->warning(message);
    const std::lock_guard lock(mutex);
    if (conflict) ++more_conflicts;
    else conflict = message;
  }

  // Waits a jittered while between attempts, but not when somebody waits for the delivery.
  void rest(milliseconds pause) {
    const auto jittered =
        std::uniform_int_distribution<int64_t>(pause.count() / 2, pause.count())(random);
    auto until = steady_clock::now() + milliseconds(jittered);
    {
      const std::lock_guard lock(mutex);
      if (stop_at) until = std::min(until, *stop_at);
    }
    while (steady_clock::now() < until && !take_hurry()) {
      spool.wait(std::chrono::ceil<milliseconds>(until - steady_clock::now()));
      spool.prepare();
    }
  }

  void tell_delivered(uint64_t below) {
    const std::lock_guard lock(mutex);
    delivered = std::max(delivered, below);
    changed.notify_all();
  }

  void tell_damage() {
    const uint64_t damage = spool.damaged_bytes();
    if (damage > known_damage)
      logger->error("reading the journal: " + std::to_string(damage - known_damage) +
                    " bytes of reports were overwritten by something in this process and are lost");
    known_damage = damage;
  }

  bool take_hurry() {
    const std::lock_guard lock(mutex);
    return std::exchange(hurry, false);
  }

  bool stopping() {
    const std::lock_guard lock(mutex);
    return stop_at.has_value();
  }

  bool late() {
    const std::lock_guard lock(mutex);
    return stop_at && steady_clock::now() >= *stop_at;
  }

  bool over() { return stopping() && (spool.drained() || late()); }
};

Shipper::Shipper(Spool &spool, ReportSink &sink, std::shared_ptr<Logger> logger, Observer observer,
                 const ShipperOptions &options)
    : state_(
          std::make_unique<State>(spool, sink, std::move(logger), std::move(observer), options)) {
  sink.on_progress([state = state_.get()](uint64_t below) { state->tell_delivered(below); });
  state_->thread = start_thread("det-shipper", [state = state_.get()] { state->run(); });
}

Shipper::~Shipper() {
  // The thread and those who wait exist only in the parent: nothing here can be taken down.
  if (state_->spool.in_child()) {
    static_cast<void>(state_.release());
    return;
  }
  stop(milliseconds{0});
  state_->sink.on_progress(nullptr);
}

void Shipper::flush(uint64_t sequence, std::optional<milliseconds> timeout) {
  if (state_->spool.in_child())
    throw Error(Code::state, "waiting for reports in a forked child: they belong to the parent");
  const auto ready = [&] { return state_->delivered > sequence || state_->finished; };
  std::unique_lock lock(state_->mutex);
  if (!ready()) {
    state_->hurry = true;
    lock.unlock();
    state_->spool.ring();
    lock.lock();
  }
  if (!timeout) state_->changed.wait(lock, ready);
  else state_->changed.wait_until(lock, after(*timeout), ready);
  if (state_->delivered > sequence) return;
  const std::string reason =
      state_->failure.empty() ? "" : "; the last attempt failed: " + state_->failure;
  if (state_->finished)
    throw Error(Code::state,
                "waiting for the master to take the reports: stopped before it had them" + reason +
                    "; they stay in the journal");
  throw Error(Code::timeout, "waiting for the master to take the reports: not done within " +
                                 std::to_string(timeout->count()) + " ms" + reason +
                                 "; they stay in the journal and are sent on");
}

bool Shipper::stop(milliseconds timeout) {
  if (state_->spool.in_child()) return false;
  const std::lock_guard joining(state_->joining);
  if (state_->thread.joinable()) {
    state_->spool.close();
    const steady_clock::time_point end = after(timeout);
    {
      const std::lock_guard lock(state_->mutex);
      state_->stop_at = end;
      state_->hurry = true;
    }
    state_->sink.end_by(end);
    state_->spool.ring();
    state_->thread.join();
  }
  return state_->complete;
}

std::string Shipper::last_failure() const {
  if (state_->spool.in_child()) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

std::optional<std::string> Shipper::take_conflict() {
  if (state_->spool.in_child()) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  std::optional<std::string> first = std::exchange(state_->conflict, std::nullopt);
  const uint64_t more = std::exchange(state_->more_conflicts, 0);
  if (first && more > 0) *first += " (and " + std::to_string(more) + " more)";
  return first;
}

}  // namespace det
