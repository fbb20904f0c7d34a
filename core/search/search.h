// A hyperparameter search: events in, decisions out. The same configuration and seed with the same
// events in the same order give the same decisions, so that a search whose events are on record can
// be run again to where it was.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/json.h"

namespace det::search {

// Trials are named by request ids, UUIDs that the search draws from its own random numbers.
struct CreateTrial {
  std::string request_id;
  int64_t trial_seed = 0;
  Json hparams = Json::object();
};
// The trial shall train to `length`, counted from its very beginning, and validate.
struct ValidateAfter {
  std::string request_id;
  uint64_t length = 0;
};
// No more operations will come for the trial: it ends when it has done the last one.
struct CloseTrial {
  std::string request_id;
};
// The trial shall save and leave (only where metrics steer the search).
struct StopTrial {
  std::string request_id;
};
struct Shutdown {
  bool cancel = false;
  bool failure = false;
};
struct SetProgress {
  double progress = 0;
};
using Decision =
    std::variant<CreateTrial, ValidateAfter, CloseTrial, StopTrial, Shutdown, SetProgress>;
using Decisions = std::vector<Decision>;

enum class ExitReason { errored, user_requested_stop, user_canceled, invalid_hp };
std::string_view exit_reason_name(ExitReason reason);  // as the platform writes it: INVALID_HP
ExitReason exit_reason_named(std::string_view name);   // throws Code::invalid

// Which releases of the platform the search is to behave as.
enum class SearchRules {
  operations,  // 0.33: trials are handed lengths
  metrics,     // 0.38: trials report metrics, and are stopped
};

// Not thread-safe. What throws Code::invalid from an event is an error of the search itself, which
// ends its experiment.
class Search {
 public:
  virtual ~Search() = default;

  virtual Decisions initial() = 0;
  virtual Decisions created(const std::string &request_id) = 0;
  virtual Decisions validation_completed(const std::string &request_id, uint64_t length,
                                         const Json &metric) = 0;
  // Where metrics steer the search: all metrics of one validation report.
  virtual Decisions validated(const std::string &request_id, const Json &metrics) = 0;
  virtual Decisions exited_early(const std::string &request_id, ExitReason reason) = 0;
  // The trial is gone, for whatever reason. Follows exited_early().
  virtual Decisions closed(const std::string &request_id) = 0;

  // How far a trial is: in units of its length, or where metrics steer the search a fraction.
  virtual void trial_progress(const std::string &request_id, double progress) = 0;
  virtual double progress() const = 0;  // of the whole search, from 0 to 1

  // The state as a document, and back.
  virtual Json snapshot() const = 0;
  virtual void restore(const Json &snapshot) = 0;
};

// From a complete experiment configuration: `searcher`, `hyperparameters` and
// `reproducibility.experiment_seed`. Throws Code::invalid.
// For `custom` it is a CustomSearch (custom.h).
std::unique_ptr<Search> make_search(const Json &config, SearchRules rules);

// So many trials are going to train to this length, if none fails. Where metrics steer the search,
// lengths are in the time metric, and 0 for trials that choose on their own.
struct PlannedTrials {
  uint64_t trials = 0;
  uint64_t length = 0;
};

// The shortest first; nothing for custom. For people to look at: which trials go on is only known
// when they do. Throws Code::invalid.
std::vector<PlannedTrials> plan_search(const Json &config, SearchRules rules);

}  // namespace det::search
