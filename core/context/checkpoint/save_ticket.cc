#include "core/context/checkpoint/save_ticket.h"

#include <utility>

namespace det::context {

SaveState SaveTicket::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

storage::ProgressCount SaveTicket::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

bool SaveTicket::await_end(std::optional<std::chrono::milliseconds> limit) const {
  std::unique_lock lock(mutex_);
  const auto over = [this] { return ended_; };
  if (limit) return changed_.wait_for(lock, *limit, over);
  changed_.wait(lock, over);
  return true;
}

void SaveTicket::rethrow() {
  const std::lock_guard lock(mutex_);
  told_ = true;
  if (failure_) throw Error(*failure_);
}

std::optional<Error> SaveTicket::take_failure() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(told_, true) || state_ != SaveState::failed) return std::nullopt;
  return failure_;
}

void SaveTicket::cancel() {
  const std::lock_guard lock(mutex_);
  cancels_ = true;
}

void SaveTicket::learn(SaveState verdict) {
  const std::lock_guard lock(mutex_);
  if (ended_ && state_ == SaveState::saving) state_ = verdict;
}

void SaveTicket::check_cancelled() const {
  if (cancels_ && !settled_)
    throw Error(Code::state, "saving checkpoint " + id_ + ": it was cancelled");
}

void SaveTicket::check() const {
  const std::lock_guard lock(mutex_);
  check_cancelled();
}

void SaveTicket::begin() {
  const std::lock_guard lock(mutex_);
  state_ = SaveState::saving;
}

void SaveTicket::count(const storage::ProgressCount &count) {
  const std::lock_guard lock(mutex_);
  progress_ = count;
  check_cancelled();
}

void SaveTicket::settle() {
  const std::lock_guard lock(mutex_);
  check_cancelled();
  settled_ = true;
}

void SaveTicket::end(std::optional<Error> failure) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  failure_ = std::move(failure);
  if (failure_) state_ = cancels_ && !settled_ ? SaveState::cancelled : SaveState::failed;
  else if (part_ != SavePart::other) state_ = SaveState::saved;
  changed_.notify_all();
}

}  // namespace det::context
