// The metrics of the trials of a store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/engine/records/page.h"
#include "core/engine/store.h"

namespace det::engine {

// Used by any thread.
class StoredMetrics {
 public:
  explicit StoredMetrics(Store &store) : store_(store) {}

  // As text, which is what a store has of it: a page is long, and need not be taken apart.
  std::string text(int64_t trial_id, const std::optional<std::string> &group, const Page &page);
  Json names(int64_t trial_id);

 private:
  Database &records() { return store_.database(); }

  Store &store_;
};

}  // namespace det::engine
