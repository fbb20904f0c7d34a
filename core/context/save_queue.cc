#include "core/context/save_queue.h"

#include <algorithm>
#include <utility>

#include "core/base/thread.h"

namespace det::context {

SaveQueue::SaveQueue() : state_(std::make_unique<State>()) {}

SaveQueue::~SaveQueue() {
  if (guard_.in_child()) static_cast<void>(state_.release());
  else if (state_->thread.joinable()) state_->thread.join();
}

bool SaveQueue::await(const Room &room, std::optional<std::chrono::milliseconds> limit) {
  std::unique_lock lock(state_->mutex);
  const auto has_room = [&] {
    uint64_t bytes = 0;
    for (const Save &save : state_->saves) bytes += save.bytes;
    return state_->saves.size() <= room.saves && bytes <= room.bytes;
  };
  if (limit) return state_->changed.wait_for(lock, *limit, has_room);
  state_->changed.wait(lock, has_room);
  return true;
}

void SaveQueue::add(std::shared_ptr<SaveTicket> ticket, uint64_t bytes, Work work) {
  const std::lock_guard lock(state_->mutex);
  state_->failed.reserve(state_->failed.size() + state_->saves.size() + 1);  // for its end
  state_->saves.push_back({std::move(ticket), bytes, std::move(work)});
  if (state_->runs) return;
  if (state_->thread.joinable()) state_->thread.join();  // it has let go of the mutex for good
  try {
    state_->thread = start_thread("det-saves", [state = state_.get()] { run(*state); });
  } catch (...) {
    state_->saves.pop_back();
    throw;
  }
  state_->runs = true;
}

void SaveQueue::run(State &state) {
  std::unique_lock lock(state.mutex);
  while (!state.saves.empty()) {
    Save &save = state.saves.front();  // stays where it is: others only add behind it
    lock.unlock();
    std::optional<Error> failure;
    try {
      save.ticket->check();
      save.ticket->begin();
      save.work(*save.ticket);
    } catch (const std::exception &thrown) {
      failure = as_error(thrown);
    }
    save.work = nullptr;
    lock.lock();
    const std::shared_ptr<SaveTicket> ticket = std::move(save.ticket);
    state.saves.pop_front();
    ticket->end(std::move(failure));
    if (ticket->state() == SaveState::failed) state.failed.push_back(ticket);
    state.changed.notify_all();
  }
  state.runs = false;
}

void SaveQueue::rethrow_failure(const std::string &tried) {
  std::vector<std::shared_ptr<SaveTicket>> failed;
  {
    const std::lock_guard lock(state_->mutex);
    failed.swap(state_->failed);
    state_->failed.reserve(state_->saves.size());
  }
  std::optional<Error> first;
  std::string more;
  for (const std::shared_ptr<SaveTicket> &ticket : failed) {
    std::optional<Error> failure = ticket->take_failure();
    if (!failure) continue;
    if (first) more += " (and checkpoint " + ticket->id() + ": " + failure->what() + ")";
    else
      first.emplace(failure->code,
                    tried + ": the asynchronous save of checkpoint " + ticket->id() +
                        " failed before: " + failure->what(),
                    failure->os_errno, failure->http_status);
  }
  if (first)
    throw Error(first->code, first->what() + more, first->os_errno, first->http_status)
        .with_retry(false);
}

uint64_t SaveQueue::bytes() {
  const std::lock_guard lock(state_->mutex);
  uint64_t bytes = 0;
  for (const Save &save : state_->saves) bytes += save.bytes;
  return bytes;
}

bool SaveQueue::has(const std::string &id) {
  const std::lock_guard lock(state_->mutex);
  return std::ranges::any_of(state_->saves,
                             [&](const Save &save) { return save.ticket->id() == id; });
}

std::shared_ptr<SaveTicket> SaveQueue::first() {
  const std::lock_guard lock(state_->mutex);
  return state_->saves.empty() ? nullptr : state_->saves.front().ticket;
}

}  // namespace det::context
