#include "core/base/log/log_relay.h"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/log/line_queue.h"
#include "core/base/process/fork_guard.h"
#include "core/base/thread.h"

namespace det {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct LogRelay::State {
  explicit State(LogCallback sink) : callback(std::move(sink)) {}

  LogCallback callback;
  const ForkGuard fork_guard;
  LineQueue lines{"", "of the log were left out: the callback is too slow"};

  std::mutex mutex;
  std::condition_variable changed;
  bool calling = false;
  bool has_thread = false;
  bool ended = false;
  std::thread thread;

  // Calls back with up to `most` lines, but not beside another thread: that one has them too.
  void deliver(std::unique_lock<std::mutex> &lock, size_t most) {
    for (; !calling && !ended && most > 0; --most) {
      std::optional<LogLine> line;
      try {
        line = lines.take();
      } catch (const std::exception &) {
        return;  // no memory; the line that tells so comes later
      }
      if (!line) return;
      calling = true;
      lock.unlock();
      try {
        callback(*line);
      } catch (...) {
        // There is nobody to tell.
      }
      lock.lock();
      calling = false;
      let_go(lock);
      changed.notify_all();
    }
  }

  // Of what the host gave, once it will not be called any more. Not under the lock: its destructor
  // is the host's, and may do as it likes.
  void let_go(std::unique_lock<std::mutex> &held) {
    if (!ended || calling) return;
    LogCallback last = std::exchange(callback, nullptr);
    held.unlock();
    last = nullptr;
    held.lock();
  }

  bool is_done() const { return !calling && (ended || lines.size() == 0); }

  void run() {
    constexpr std::chrono::seconds idle{1};
    std::unique_lock lock(mutex);
    while (!ended) {
      deliver(lock, SIZE_MAX);
      const auto wanted = [this] { return ended || (!calling && lines.size() > 0); };
      if (!changed.wait_for(lock, idle, wanted)) break;
    }
    has_thread = false;
    changed.notify_all();
  }
};

namespace {

// Without a thread, the lines wait for the next one who comes.
template <class State>
void want_thread(const std::shared_ptr<State> &state) noexcept {
  state->changed.notify_all();
  if (state->has_thread || state->ended) return;
  try {
    if (state->thread.joinable()) state->thread.join();  // that has ended by itself
    state->thread = start_thread("det-log", [state] { state->run(); });
    state->has_thread = true;
  } catch (const std::exception &) {
    return;
  }
}

}  // namespace

LogRelay::LogRelay(LogCallback callback) : state_(std::make_shared<State>(std::move(callback))) {}

LogRelay::~LogRelay() {
  constexpr milliseconds patience{5000};
  end(patience);
  // Else the thread is the parent's.
  if (state_->fork_guard.in_child())
    static_cast<void>(std::make_unique<std::shared_ptr<State>>(state_).release());
}

void LogRelay::write(LogLevel level, std::string_view text, const LogOrigin &origin) noexcept {
  State &state = *state_;
  if (state.fork_guard.in_child()) return;
  state.lines.push(level, text, origin);
  std::unique_lock lock(state.mutex);
  if (!is_thread_of_ours()) state.deliver(lock, state.lines.size());
  // Of the host's thread, too, no more is asked than what waited when it came.
  if (state.lines.size() > 0 && !state.calling) want_thread(state_);
}

void LogRelay::flush(milliseconds patience) noexcept {
  State &state = *state_;
  if (state.fork_guard.in_child()) return;
  std::unique_lock lock(state.mutex);
  if (!is_thread_of_ours()) state.deliver(lock, state.lines.size());
  if (state.lines.size() > 0 && !state.calling) want_thread(state_);
  state.changed.wait_for(lock, patience, [&] { return state.is_done(); });
}

void LogRelay::end(milliseconds patience) noexcept {
  State &state = *state_;
  if (state.fork_guard.in_child()) return;
  const auto until = steady_clock::now() + patience;
  flush(patience);
  std::unique_lock lock(state.mutex);
  state.ended = true;
  state.let_go(lock);
  state.changed.notify_all();
  state.changed.wait_until(lock, until, [&] { return !state.calling && !state.has_thread; });
  if (!state.thread.joinable()) return;
  if (state.has_thread) {
    state.thread.detach();  // inside of the callback
    return;
  }
  std::thread thread = std::move(state.thread);
  lock.unlock();
  thread.join();
}

}  // namespace det
