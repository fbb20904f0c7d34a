// What the supervisor of an experiment asks of its records and does to them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/engine/experiment.h"
#include "core/engine/store.h"
#include "core/engine/supervision/recorded_search.h"
#include "core/engine/supervision/supervised_runs.h"

namespace det::engine {

// What people make of an experiment.
struct ExperimentControl {
  std::string state;
  int64_t count = 0;  // grows with each thing they did
};

struct OpenTrial {
  int64_t id = 0;
  std::string state;
};

// Whether a trial is to be started.
struct TrialStanding {
  std::string state;
  bool closed = false;
  bool done = true;  // no operation, or one that is completed and decided about
  int64_t turn = 0;  // when the search asked for its operation; 0: it is in the middle of it
};

// What a trial that runs has said.
struct TrialNews {
  bool refused = false;  // to go on
  double progress = 0;
  uint64_t length = 0;         // of its operation
  std::optional<Json> metric;  // of the operation, completed and not yet decided about
};

// Used by one thread. Throws what the store throws; then it is of no use any more.
class SupervisedExperiment {
 public:
  // Throws Code::busy when the experiment has a supervisor.
  SupervisedExperiment(const std::filesystem::path &store_directory, int64_t experiment_id,
                       const StoreOptions &options);
  SupervisedExperiment(const SupervisedExperiment &) = delete;  // its parts know the connection
  SupervisedExperiment &operator=(const SupervisedExperiment &) = delete;

  const SupervisorSeat &seat() const { return seat_; }
  SupervisedRuns &runs() { return runs_; }
  RunOutput &output() { return output_; }
  // Makes the search, told all that is on record.
  void take_up(std::unique_ptr<search::Search> search, std::optional<uint64_t> length);
  RecordedSearch &search() { return *search_; }  // after take_up()
  const RecordedSearch &search() const { return *search_; }

  ExperimentRecord experiment();
  std::string cluster_id();
  ExperimentControl control();
  // As if a person had asked for it. Throws Code::state where it may not become that.
  void change_state(std::string_view to);
  void note_progress(double progress);
  // Where it is stopping, it has ended now. Gives its state.
  std::string finish();

  std::vector<SearchPost> posts();       // that wait for the search to answer them
  std::vector<OpenTrial> open_trials();  // those that have not ended, in order
  TrialStanding standing(int64_t trial_id);
  TrialNews news(int64_t trial_id);
  std::vector<TrialNews> news(const std::vector<int64_t> &trials);  // of each, at one moment
  std::vector<TrialValidation> new_validations(int64_t trial_id);

 private:
  Database &records() { return store_.database(); }
  std::string name() const { return "experiment " + std::to_string(experiment_id_); }

  Store store_;
  const SupervisorSeat seat_;
  const int64_t experiment_id_;
  SupervisedRuns runs_;
  RunOutput output_;
  std::unique_ptr<RecordedSearch> search_;
};

}  // namespace det::engine
