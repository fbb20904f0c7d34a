// The outside of custom searches: their events in, decisions about them out.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/base/json_fwd.h"

namespace det::engine {

class Store;

// Both wait, on connections of their own: others may use the store meanwhile. Used by any thread.
class CustomSearches {
 public:
  explicit CustomSearches(const Store &store) : store_(store) {}

  // {"events": [...]}: those that wait, or after `limit` none. Where the experiment is not active,
  // one of id -1 says so.
  Json events(int64_t experiment_id, std::chrono::milliseconds limit) const;
  // Hands `operations`, a list, to the supervisor, and waits until it has carried them out.
  // {"refused": text or null}. Throws Code::not_found when no such event waits, Code::unavailable
  // when the experiment has no supervisor.
  Json post(int64_t experiment_id, int64_t event_id, const Json &operations) const;

 private:
  const Store &store_;
};

}  // namespace det::engine
