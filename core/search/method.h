// What the methods of a search have in common: the trials they make, and the events they hear.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/search/hyperparameters.h"
#include "core/search/random.h"
#include "core/search/search.h"
#include "core/search/settings.h"

namespace det::search {

using TrialIndex = size_t;  // the n-th trial that this process heard of

// All trials of a search, and what makes new ones.
class TrialTable {
 public:
  TrialTable(HyperparameterGroup space, uint32_t seed) : space_(std::move(space)), random_(seed) {}

  // A new trial with hyperparameters drawn from the space, or given.
  TrialIndex create(Decisions &decisions);
  TrialIndex create(Json hparams, Decisions &decisions);

  const std::string &request_id(TrialIndex trial) const { return ids_[trial]; }
  std::optional<TrialIndex> find(const std::string &request_id) const;
  TrialIndex add(const std::string &request_id);  // or finds it
  size_t size() const { return ids_.size(); }

  const HyperparameterGroup &space() const { return space_; }
  RandomState &random() { return random_; }
  const RandomState &random() const { return random_; }

 private:
  HyperparameterGroup space_;
  RandomState random_;
  std::vector<std::string> ids_;
  std::unordered_map<std::string, TrialIndex> indexes_;
};

// How far the trials are, all together.
struct TrialTotals {
  size_t reporting = 0;         // were created, and not found to have invalid hyperparameters
  size_t reporting_closed = 0;  // of these
  size_t closed = 0;            // of all
  double open_progress = 0;     // the sum over those that report and are not closed
};

// One way to search. Decisions are appended to the list that comes with an event.
class Method {
 public:
  virtual ~Method() = default;

  virtual void initial(Decisions &decisions) = 0;
  virtual void created(TrialIndex /*trial*/) {}
  virtual void validation_completed(TrialIndex /*trial*/, const Json & /*metric*/,
                                    Decisions & /*decisions*/) {}
  virtual void validated(TrialIndex /*trial*/, const Json & /*metrics*/,
                         Decisions & /*decisions*/) {}
  virtual void exited_early(TrialIndex trial, ExitReason reason, Decisions &decisions) = 0;
  virtual void closed(TrialIndex trial, Decisions &decisions) = 0;
  virtual double progress(const TrialTotals &totals) const = 0;

  virtual Json snapshot() const = 0;
  virtual void restore(const Json &snapshot) = 0;
};

std::unique_ptr<Method> make_random(const SearchSettings &settings, SearchRules rules,
                                    TrialTable &trials);
std::unique_ptr<Method> make_grid(const SearchSettings &settings, SearchRules rules,
                                  TrialTable &trials);
// async_halving and adaptive_asha. Throws Code::invalid where two rungs have the same length.
std::unique_ptr<Method> make_asha(const SearchSettings &settings, SearchRules rules,
                                  TrialTable &trials);

// An object with these entries in the order of their names.
Json sorted_object(std::vector<std::pair<std::string, Json>> entries);

// Runs `read`; what it misses in a snapshot is an error of Code::corrupt.
void reading_snapshot(const std::function<void()> &read);
const Json &object_in(const Json &snapshot, const char *name);

}  // namespace det::search
