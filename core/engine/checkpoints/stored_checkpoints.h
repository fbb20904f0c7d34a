// The checkpoints of a store: listed, found, kept and deleted. Answers are JSON objects whose keys
// docs/client.md lists.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/engine/records/page.h"
#include "core/engine/store.h"

namespace det::engine {

// Used by any thread.
class StoredCheckpoints {
 public:
  explicit StoredCheckpoints(Store &store) : store_(store) {}

  Json list(int64_t trial_id, const Page &page);  // 0: of all trials
  Json get(const std::string &id);
  // By the beginning of its id. Throws Code::conflict where several begin so.
  Json find(const std::string &text);
  // Where one is, as a run of its experiment opens that, with its secrets: not for display.
  Json storage_of(const std::string &id);
  // {"experiments": [{"experiment_id", "name", "checkpoints", "size"}]}, the largest first.
  Json usage();

  // What is pinned stays. Gives its entry. Throws Code::state where it began to be deleted.
  Json pin(const std::string &id, bool pinned);
  // Its files, and then it counts as deleted. Gives {"uuid", "size"}. Throws Code::state where it
  // is pinned or something starts from it.
  Json remove(const std::string &id, Logger &logger);
  // Deletes those that the experiment's configuration does not keep; `dry`: only tells which ones
  // these are.
  Json collect_garbage(int64_t experiment_id, bool dry, Logger &logger);

 private:
  Database &records() { return store_.database(); }
  Json entry(const std::string &id);

  Store &store_;
};

// Throws Code::state where a person keeps it.
void require_unpinned(Database &store, const std::string &uuid);

}  // namespace det::engine
