#include "core/context/removals.h"

#include <algorithm>
#include <utility>

#include "core/base/thread.h"

namespace det::context {

Removals::Removals(Remove remove, std::function<void()> done) : state_(std::make_unique<State>()) {
  state_->remove = std::move(remove);
  state_->done = std::move(done);
}

Removals::~Removals() {
  if (guard_.in_child()) {
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->stops = true;
  }
  if (state_->thread.joinable()) state_->thread.join();
}

void Removals::add(const std::vector<engine::WithdrawnCheckpoint> &withdrawn) {
  if (withdrawn.empty()) return;
  const std::lock_guard lock(state_->mutex);
  const size_t before = state_->waiting.size();
  state_->waiting.insert(state_->waiting.end(), withdrawn.begin(), withdrawn.end());
  if (state_->runs) return;
  if (state_->thread.joinable()) state_->thread.join();  // it has let go of the mutex for good
  try {
    state_->thread = start_thread("det-removals", [state = state_.get()] { run(*state); });
  } catch (...) {
    state_->waiting.resize(before);  // nobody removes them
    throw;
  }
  state_->runs = true;
}

void Removals::run(State &state) {
  std::unique_lock lock(state.mutex);
  while (!state.waiting.empty() && !state.stops) {
    const engine::WithdrawnCheckpoint one = state.waiting.front();
    lock.unlock();
    try {
      state.remove(one);
    } catch (const std::exception &) {
      // It has told what there is to tell.
    }
    lock.lock();
    state.waiting.pop_front();
    state.changed.notify_all();
    if (!state.waiting.empty()) continue;
    lock.unlock();
    try {
      state.done();
    } catch (const std::exception &) {
      // As above.
    }
    lock.lock();
  }
  state.runs = false;
  state.changed.notify_all();
}

std::set<std::string> Removals::pending() {
  const std::lock_guard lock(state_->mutex);
  std::set<std::string> ids;
  for (const auto &one : state_->waiting) ids.insert(one.id);
  return ids;
}

void Removals::await(const std::string &id) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] {
    return std::ranges::find(state_->waiting, id, &engine::WithdrawnCheckpoint::id) ==
           state_->waiting.end();
  });
}

bool Removals::await_all(std::chrono::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, limit, [&] { return !state_->runs; });
}

}  // namespace det::context
