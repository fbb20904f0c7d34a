// A save that goes on in the background, as whoever asked for it follows it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "core/base/error.h"
#include "core/storage/progress.h"

namespace det::context {

// Same numbers as DET_TICKET_* in include/det/checkpoint.h.
enum class SaveState : int { waiting = 0, saving = 1, saved = 2, failed = 3, cancelled = 4 };

// Of this rank in a save: all of it, or of one of all ranks the chief's, who knows how it ends, or
// another's, who by itself only knows that its own part is done.
enum class SavePart { all, chief, other };

// Any thread. The thread that saves calls begin(), count(), settle() and end().
class SaveTicket {
 public:
  SaveTicket(std::string id, SavePart part) : id_(std::move(id)), part_(part) {}

  const std::string &id() const { return id_; }
  bool is_of_all_ranks() const { return part_ != SavePart::all; }
  SaveState state() const;
  storage::ProgressCount progress() const;

  // Until this rank has done all it does; false at the end of `limit`.
  bool await_end(std::optional<std::chrono::milliseconds> limit) const;
  // After that: throws what it failed with, or that it was cancelled. Whoever hears it knows it.
  void rethrow();
  // What it failed with, unless somebody has heard it; nobody else hears it again from here.
  std::optional<Error> take_failure();

  // Unless it then ends as saved, nothing is left of it.
  void cancel();

  // What all ranks have found out together.
  void learn(SaveState verdict);

  // Throws where it is to be cancelled.
  void check() const;
  void begin();
  void count(const storage::ProgressCount &count);
  // From here on it cannot be cancelled any more; throws where it is to be.
  void settle();
  void end(std::optional<Error> failure);

 private:
  void check_cancelled() const;  // with the mutex held

  const std::string id_;
  const SavePart part_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  SaveState state_ = SaveState::waiting;
  bool ended_ = false, cancels_ = false, settled_ = false, told_ = false;
  std::optional<Error> failure_;
  storage::ProgressCount progress_;
};

}  // namespace det::context
