#include "core/context/checkpoint/retention.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
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

Retention::Retention(const RunParts &run, CurrentStage &stage)
    : run_(run),
      stage_(stage),
      removals_([this](const auto &one) { remove_one_superseded(one); },
                [this] { run_.storage.reclaim(); }) {}

void Retention::note_saved(bool in_order) {
  if (in_order) remove_superseded(begun_from());
  has_saved_ = true;
}

// What ranks of other machines may still read.
std::set<std::string> Retention::begun_from() const {
  const std::optional<std::string> &begun = run_.master.info().latest_checkpoint;
  return begun && run_.communicator.ranks().size > 1 ? std::set{*begun} : std::set<std::string>{};
}

// The checkpoint that was saved is safe, whatever becomes of these.
void Retention::remove_superseded(std::set<std::string> held) noexcept try {
  held.merge(removals_.pending());
  {
    const std::lock_guard lock(unremovable_mutex_);
    held.insert(unremovable_.begin(), unremovable_.end());
  }
  const std::lock_guard lock(held_->mutex);  // nobody begins to read meanwhile
  held.insert(held_->ids.begin(), held_->ids.end());
  removals_.add(run_.master.checkpoints().withdraw_superseded(held));
} catch (const std::exception &failure) {
  run_.logger.warning("deleting checkpoints that are not kept: ", failure.what(),
                      "; the next save tries again");
}

// What somebody else has begun to delete may lack files.
void Retention::remove_one_superseded(const engine::WithdrawnCheckpoint &one) try {
  const std::string &id = one.id;
  if (const std::shared_ptr<SaveStage> at = stage_.get()) at->drop(id);
  try {
    run_.storage.withdraw(id);
  } catch (const Error &) {
    if (one.was_complete) run_.master.checkpoints().reinstate(id);
    throw;
  }
  remove_withdrawn(id, one.was_complete);
  run_.master.checkpoints().note_deleted(id);
  run_.storage.settle(id);
  run_.logger.debug("deleted checkpoint ", id, ", which is not kept");
} catch (const std::exception &failure) {
  const std::lock_guard lock(unremovable_mutex_);
  unremovable_.insert(one.id);
  run_.logger.warning("deleting checkpoint ", one.id, ", which is not kept: ", failure.what());
}

bool Retention::finish(bool decides, std::chrono::milliseconds limit) {
  if (decides && has_saved_) remove_superseded({});
  if (removals_.await_all(limit)) return true;
  run_.logger.warning(
      "deleting checkpoints that are not kept: the storage takes too long; the next "
      "start of the trial deletes what is left");
  return false;
}

std::shared_ptr<void> Retention::hold(const std::string &id) {
  struct Hold {
    Hold(std::shared_ptr<Held> all, const std::string &id) : held(std::move(all)) {
      const std::lock_guard lock(held->mutex);
      place = held->ids.insert(id);
    }
    ~Hold() {
      const std::lock_guard lock(held->mutex);
      held->ids.erase(place);
    }
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;

    std::shared_ptr<Held> held;
    decltype(Held::ids)::iterator place;
  };
  return std::make_shared<Hold>(held_, id);
}

void Retention::remove_withdrawn(const std::string &id, bool was_complete) try {
  run_.storage.remove(id);
} catch (const Error &) {
  bool is_there = true;
  try {
    run_.storage.list(id);
  } catch (const Error &error) {
    is_there = error.code != Code::not_found;
  }
  if (!is_there)
    run_.master.checkpoints().note_deleted(id);  // what is left of it, the next sweep removes
  if (!is_there || (was_complete && run_.master.checkpoints().reinstate(id)))
    run_.storage.settle(id);
  throw;
}

}  // namespace det::context
