// One change of the records: all of it is there after commit(), and nothing otherwise. Then, and
// not before, those who wait for it are woken.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/engine/store.h"

namespace det::engine {

class Change {
 public:
  // Waits for other writers.
  explicit Change(Store &store, Durability durability = Durability::durable);

  Database &records() { return store_.database(); }
  // A run is asked to stop; the first reason stays.
  void signal(int64_t trial_id, int64_t run_id, std::string_view reason);
  // There is news for the supervisor of an experiment.
  void tell_supervisor(int64_t experiment_id) { supervisors_.push_back(experiment_id); }
  // There is news for those who wait for the search of an experiment.
  void tell_listeners(int64_t experiment_id) { listeners_.push_back(experiment_id); }
  void commit();

 private:
  Store &store_;
  Transaction transaction_;
  std::vector<std::pair<int64_t, int64_t>> runs_;
  std::vector<int64_t> supervisors_;
  std::vector<int64_t> listeners_;
};

}  // namespace det::engine
