// The names in the reports of trials, kept beside them: a trial may have millions of reports.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "core/base/string_hash.h"
#include "core/engine/database.h"

namespace det::engine {

class KnownNames {
 public:
  explicit KnownNames(Database &store) : store_(store) {}

  // Starts a delivery for a trial, inside its transaction.
  void begin(int64_t trial_id) {
    if (trial_id != trial_id_) forget();
    trial_id_ = trial_id;
  }

  // What is remembered may differ from what is stored.
  void forget() { known_.clear(); }

  void add(std::string_view group, std::string_view name) {
    auto known = known_.find(group);
    if (known == known_.end()) known = known_.emplace(group, Names()).first;
    if (known->second.contains(name)) return;
    constexpr size_t many =
        100'000;  // names that are never the same again must not fill the memory
    if (known->second.size() > many) known->second.clear();
    known->second.emplace(name);
    store_.run(
        "INSERT INTO metric_names (trial_id, metric_group, name) VALUES (?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        trial_id_, group, name);
  }

 private:
  using Names = std::unordered_set<std::string, StringHash, std::equal_to<>>;

  Database &store_;
  int64_t trial_id_ = 0;
  std::map<std::string, Names, std::less<>> known_;  // by group
};

}  // namespace det::engine
