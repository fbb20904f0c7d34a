#include "core/journal/shipper.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/journal/told.h"

namespace det::journal {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Beyond a year a wait is without limit; later times would overflow the clock.
steady_clock::time_point after(milliseconds timeout) {
  return steady_clock::now() +
         std::clamp(timeout, milliseconds{0}, milliseconds{365LL * 86400'000});
}

// What is reported together should leave together, as the groups of a sample, which some masters
// get as one row: the first of them may wake the thread before the others are there.
constexpr milliseconds gathering{5};
// How long a delivery that is under way at the end may take beyond the limit.
constexpr milliseconds under_way{10'000};

}  // namespace

struct Shipper::State {
  struct Failure {
    Code code = Code::internal;
    int os_errno = 0;
    std::string message = {};  // empty: there was none

    // Somebody has to do something first: whoever waits for a delivery is told so at once.
    bool is_final() const {
      return code == Code::full || code == Code::corrupt || os_errno == ESTALE;
    }
  };

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
  Failure failure;
  uint64_t attempts_in_vain = 0;
  Told told;

  std::function<void()> periodic;
  milliseconds period{0};
  steady_clock::time_point due;

  std::mutex joining;
  std::thread thread;

  // The thread's own.
  std::vector<Report> batch;
  size_t undelivered = 0;  // of them
  bool observed = false;
  uint64_t delivered_before = 0;
  std::minstd_rand random{static_cast<std::minstd_rand::result_type>(now_us())};
  uint64_t known_damage = 0;
  std::optional<steady_clock::time_point> last_report;

  void run() {
    for (bool going = true; going;) {
      try {
        going = work();
      } catch (const std::exception &error) {  // no memory; nothing was lost
        logger->error("shipping reports: ", error.what());
        spool.wait(options.interval);
        going = !late();
      }
    }
    if (const std::string refused = refused_in_all(); !refused.empty()) logger->warning(refused);
    const std::lock_guard lock(mutex);
    complete = spool.drained();
    finished = true;
    changed.notify_all();
  }

  // Ships what there is, else waits for more. False at the end.
  bool work() {
    // What an attempt without memory has left is not read again.
    if (undelivered == 0) {
      undelivered = spool.read(batch, options.batch_reports, options.batch_bytes);
      observed = false;
    }
    const size_t count = undelivered;
    if (count > 0) {
      spool.prepare();
      last_report = steady_clock::now();
      if (!deliver({batch.data(), count})) return false;
      undelivered = 0;
    }
    spool.release();
    tell_damage();
    tell_delivered(spool.read_position());
    call_due();  // now there is room for what it reports
    if (count > 0) return true;
    if (over()) return false;
    const bool idle = !last_report || steady_clock::now() - *last_report >= options.idle;
    if (!idle || stopping()) {
      spool.wait(options.interval);
    } else {
      spool.sleep(until_due());
      if (!take_hurry()) spool.wait(gathering);
    }
    return true;
  }

  void call_due() {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex);
      if (!periodic || stop_at || steady_clock::now() < due) return;
      due = steady_clock::now() + period;
      call = periodic;
    }
    try {
      call();
    } catch (const std::exception &error) {
      logger->warning(error.what());
    }
  }

  std::optional<milliseconds> until_due() {
    const std::lock_guard lock(mutex);
    if (!periodic) return std::nullopt;
    return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(due - steady_clock::now()));
  }

  // Until the sink has them. False when stopped before.
  bool deliver(std::span<const Report> reports) {
    milliseconds pause = options.retry_first;
    while (!late()) {
      const bool is_last = stopping();
      const std::optional<Failure> failed = attempt(reports);
      note(failed);
      if (!std::exchange(observed, true)) observe(reports);
      if (!failed) return true;
      if (is_last && failed->is_final()) return false;
      if (has_progressed()) pause = options.retry_first;
      rest(pause);
      pause = std::min(pause * 2, options.retry_limit);
    }
    return false;
  }

  std::optional<Failure> attempt(std::span<const Report> reports) {
    try {
      note_told(sink.deliver(spool.key(), reports));
      return std::nullopt;
    } catch (const Error &error) {
      note_told(sink.take_told());
      return Failure{error.code, error.os_errno, error.what()};
    } catch (const std::bad_alloc &error) {
      return Failure{Code::no_memory, 0, error.what()};
    } catch (const std::exception &error) {
      return Failure{Code::internal, 0, error.what()};
    }
  }

  void observe(std::span<const Report> reports) {
    if (!observer) return;
    try {
      observer(reports);
    } catch (const std::exception &error) {
      logger->warning("writing reports for plots: ", error.what());
    }
  }

  // Records how an attempt went, and tells of the first failure in a row and of its end.
  void note(const std::optional<Failure> &failed) {
    std::string before;
    {
      const std::lock_guard lock(mutex);
      before = std::exchange(failure, failed.value_or(Failure())).message;
      if (failed && failed->is_final()) {
        ++attempts_in_vain;
        changed.notify_all();
      }
    }
    spool.set_keeping_up(!failed);
    if (!failed && !before.empty()) logger->info("the master takes reports again");
    if (!failed || !before.empty() || late()) return;
    const bool may_pass = is_passing(failed->code) && !failed->is_final();
    logger->write(may_pass ? LogLevel::warning : LogLevel::error,
                  "delivering reports: " + failed->message +
                      "; they wait in the journal, and are "
                      "sent again until the master takes them");
  }

  std::string refused_in_all() {
    const std::lock_guard lock(mutex);
    return told.in_all();
  }

  void note_told(const Delivery &delivery) {
    for (const std::string &message : delivery.conflicts) logger->warning(message);
    const std::lock_guard lock(mutex);
    told.add(delivery);
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

  // Since the last call.
  bool has_progressed() {
    const std::lock_guard lock(mutex);
    return std::exchange(delivered_before, delivered) < delivered;
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
  if (state_->thread.joinable()) state_->thread.join();
  state_->sink.on_progress(nullptr);
}

void Shipper::flush(uint64_t sequence, std::optional<milliseconds> timeout) {
  if (state_->spool.in_child())
    throw Error(Code::state, "waiting for reports in a forked child: they belong to the parent");
  std::unique_lock lock(state_->mutex);
  const uint64_t in_vain_before = state_->attempts_in_vain;
  const auto in_vain = [&] { return state_->attempts_in_vain > in_vain_before; };
  const auto ready = [&] { return state_->delivered > sequence || state_->finished || in_vain(); };
  if (!ready()) {
    state_->hurry = true;
    lock.unlock();
    state_->spool.ring();
    lock.lock();
  }
  if (!timeout) state_->changed.wait(lock, ready);
  else state_->changed.wait_until(lock, after(*timeout), ready);
  if (state_->delivered > sequence) return;
  const std::string reason = state_->failure.message.empty()
                                 ? ""
                                 : "; the last attempt failed: " + state_->failure.message;
  if (state_->finished)
    throw Error(Code::state,
                "waiting for the master to take the reports: stopped before it had them" + reason +
                    "; they stay in the journal");
  if (in_vain())
    throw Error(state_->failure.code,
                "waiting for the master to take the reports" + reason +
                    "; they stay in the journal and are sent on",
                state_->failure.os_errno);
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
    {
      std::unique_lock lock(state_->mutex);
      if (!state_->changed.wait_until(lock, end + under_way, [&] { return state_->finished; }))
        return false;
    }
    state_->thread.join();
  }
  return state_->complete;
}

bool Shipper::is_busy() {
  const std::lock_guard joining(state_->joining);
  return state_->thread.joinable();
}

void Shipper::call_every(milliseconds interval, std::function<void()> call) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->periodic = std::move(call);
    state_->period = interval;
    state_->due = after(interval);
  }
  state_->spool.ring();
}

std::string Shipper::last_failure() const {
  if (state_->spool.in_child()) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->failure.message;
}

std::optional<std::string> Shipper::take_told() {
  if (state_->spool.in_child()) return std::nullopt;
  const std::lock_guard lock(state_->mutex);
  return state_->told.take();
}

}  // namespace det::journal
