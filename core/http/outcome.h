// How a request ends, handed from the thread that carries it to the one that waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <variant>

#include "core/base/error.h"
#include "core/base/wake.h"
#include "core/http/message.h"

namespace det::http {

// Shared by both threads. Endings are moved through, so that no two threads own parts of an error
// or an answer.
class Outcome {
 public:
  void set(HttpAnswer answer) { end(std::move(answer)); }
  void set(Error reason) { end(std::move(reason)); }
  void set_no_memory() noexcept { end(NoMemory{}); }  // where there is none for an error either

  HttpAnswer take();  // waits; throws the error, or std::bad_alloc; once
  bool wait_for(std::chrono::milliseconds patience) const;
  bool wait_unless(const Wake &wake);  // false: `wake` was set first

 private:
  struct NoMemory {};
  using Ending = std::variant<std::monostate, HttpAnswer, Error, NoMemory>;

  void end(Ending ending) noexcept;
  bool has_ended() const { return ending_.index() != 0; }

  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  Ending ending_;
  std::optional<Wake> wake_;  // of who waits in poll(2)
};

}  // namespace det::http
