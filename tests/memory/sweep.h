// Calls of the API with their memory running out: a test goes through what it does again and again,
// and each time another allocation of each of its calls fails, the first, the second and so on.
#pragma once

#include <det/core.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "tests/cmocka.h"
#include "tests/memory/shortage.h"

namespace det::test {

// Which allocations fail: of the thread that calls, of each call; or of the library's own threads,
// while the test goes through everything once.
struct Scarcity {
  Whose whose = Whose::this_thread;
  int64_t count = 1;
  Allocations which = Allocations::all;
};

class Sweep {
 public:
  explicit Sweep(Scarcity scarcity) : scarcity_(scarcity) {}

  // How far to go on. Beyond the first allocations not every one has a turn of its own, unless the
  // variable DET_TEST_EVERY_ALLOCATION is set: that takes minutes.
  static int64_t step_behind(int64_t before) {
    static const bool all = std::getenv("DET_TEST_EVERY_ALLOCATION") != nullptr;
    return all ? 1 : 1 + before / 4;
  }

  // Whether there is another time to go through everything.
  bool next() {
    if (before_ >= 0 && !has_failed_) return false;
    before_ += step_behind(before_);
    has_failed_ = false;
    return true;
  }

  // From here on memory runs out for the library's own threads, where it does for them.
  void start() {
    if (scarcity_.whose == Whose::other_threads) begin();
  }

  // The library's own threads have memory again.
  void end() {
    if (shortage_ && shortage_->failures() > 0) has_failed_ = true;
    shortage_.reset();
  }

  // A call that goes well, or says that there is no memory. Gives the status.
  template <class Call>
  det_status attempt(const char *what, const Call &make) {
    det_error error = DET_ERROR_INIT;
    const bool is_short = scarcity_.whose == Whose::this_thread && !has_memory_;
    if (is_short) begin();
    const det_status status = make(&error);
    if (is_short) end();
    assert_int_equal(error.code, std::min(status, DET_OK));
    if (status < 0 && (status != DET_E_NOMEM || has_memory_))
      fail_msg("%s, allocation %d: %s: %s", what, static_cast<int>(before_),
               det_status_name(status), error.message);
    return status;
  }

  // For what comes after a failure.
  template <class Work>
  void with_memory(const Work &work) {
    has_memory_ = true;
    work();
    has_memory_ = false;
  }

  // One that goes well afterwards.
  template <class Call>
  det_status call(const char *what, const Call &make) {
    det_status status = attempt(what, make);
    // The library's own threads may lack it for several calls.
    if (scarcity_.whose == Whose::other_threads)
      for (int64_t left = scarcity_.count; left > 1 && status == DET_E_NOMEM; --left)
        status = attempt(what, make);
    if (status == DET_E_NOMEM) with_memory([&] { status = attempt(what, make); });
    return status;
  }

  // The same of a call that makes something: nothing, where it fails.
  template <class T, class Call>
  T *made(const char *what, const Call &make) {
    T *result = nullptr;
    call(what, [&](det_error *error) {
      char unset = 0;
      result = reinterpret_cast<T *>(&unset);
      const det_status status = make(&result, error);
      if (status != DET_OK && result != nullptr) fail_msg("%s: something is left there", what);
      return status;
    });
    return result;
  }

  // An answer of the API in a text.
  template <class Call>
  std::string text(const char *what, const Call &make) {
    char *answer = made<char>(what, make);
    const std::string text = answer != nullptr ? answer : "";
    det_free(answer);
    return text;
  }

 private:
  void begin() { shortage_.emplace(scarcity_.whose, before_, scarcity_.count, scarcity_.which); }

  const Scarcity scarcity_;
  int64_t before_ = -1;
  bool has_failed_ = false, has_memory_ = false;
  std::optional<Shortage> shortage_;
};

// Goes through it with one failure at a time, and with memory that does not come back before the
// end of the call.
template <class Life>
void sweep_calls(const Life &live) {
  for (const int64_t count : {int64_t{1}, all_that_follow})
    for (Sweep sweep({Whose::this_thread, count}); sweep.next();) live(sweep);
}

// The same for the library's own threads, which have memory again soon.
template <class Life>
void sweep_threads(const Life &live, Allocations which = Allocations::all) {
  for (const int64_t count : {1, 3})
    for (Sweep sweep({Whose::other_threads, count, which}); sweep.next();) live(sweep);
}

}  // namespace det::test
