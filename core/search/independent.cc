// single, random and grid: trials that have nothing to do with each other, each with one length.
#include <algorithm>

#include "core/base/error.h"
#include "core/search/grid.h"
#include "core/search/method.h"

namespace det::search {

namespace {

// More of them than anybody waits for.
constexpr uint64_t most_points_of_search = 1'000'000;

class IndependentTrials : public Method {
 public:
  IndependentTrials(const SearchSettings &settings, SearchRules rules, TrialTable &trials)
      : settings_(settings), rules_(rules), trials_(trials) {}

  void initial(Decisions &decisions) override {
    const uint64_t most = settings_.max_concurrent_trials;
    for (uint64_t i = 0; (most == 0 || i < most) && has_more(); ++i) start_trial(decisions);
  }

  void exited_early(TrialIndex /*trial*/, ExitReason /*reason*/,
                    Decisions & /*decisions*/) override {
    --pending_;
  }

  void closed(TrialIndex /*trial*/, Decisions &decisions) override {
    --pending_;
    if (has_more()) start_trial(decisions);
  }

 protected:
  virtual bool has_more() const = 0;
  virtual TrialIndex create(Decisions &decisions) = 0;

  // Of `total` trials, `closed` are done.
  double share_done(const TrialTotals &totals, size_t closed, uint64_t total) const {
    const auto done = static_cast<double>(closed);
    if (rules_ == SearchRules::metrics)
      return (done + totals.open_progress) / static_cast<double>(totals.reporting);
    const auto length = static_cast<double>(settings_.max_length);
    const auto all = static_cast<double>(total);
    return length == 0 ? done / all : (done * length + totals.open_progress) / (length * all);
  }

  const SearchSettings settings_;
  const SearchRules rules_;
  TrialTable &trials_;
  int64_t pending_ = 0;

 private:
  void start_trial(Decisions &decisions) {
    const TrialIndex trial = create(decisions);
    ++pending_;
    if (rules_ == SearchRules::metrics) return;
    decisions.emplace_back(ValidateAfter{trials_.request_id(trial), settings_.max_length});
    decisions.emplace_back(CloseTrial{trials_.request_id(trial)});
  }
};

// single is a random search of one trial.
class RandomSearch : public IndependentTrials {
 public:
  using IndependentTrials::IndependentTrials;

  void exited_early(TrialIndex trial, ExitReason reason, Decisions &decisions) override {
    IndependentTrials::exited_early(trial, reason, decisions);
    // The closed() that follows replaces the trial.
    if (reason == ExitReason::invalid_hp && !is_single()) --created_;
  }

  double progress(const TrialTotals &totals) const override {
    return share_done(totals, totals.reporting_closed, settings_.max_trials);
  }

  Json snapshot() const override {
    return {{"created_trials", created_},
            {"pending_trials", pending_},
            {"search_method_type", is_single() ? "single" : "random"}};
  }

  void restore(const Json &snapshot) override {
    created_ = snapshot.at("created_trials").get<int64_t>();
    pending_ = snapshot.at("pending_trials").get<int64_t>();
  }

 private:
  bool is_single() const { return settings_.method == SearchSettings::Method::single; }
  bool has_more() const override { return created_ < static_cast<int64_t>(settings_.max_trials); }
  TrialIndex create(Decisions &decisions) override {
    ++created_;
    return trials_.create(decisions);
  }

  int64_t created_ = 0;  // less those to be replaced
};

// One trial for each point, from the last point to the first.
class GridSearch : public IndependentTrials {
 public:
  GridSearch(const SearchSettings &settings, SearchRules rules, TrialTable &trials)
      : IndependentTrials(settings, rules, trials),
        grid_(trials.space(), rules == SearchRules::metrics ? Grid::EmptyGroups::kept
                                                            : Grid::EmptyGroups::left_out),
        remaining_(grid_.size()) {
    check_at_once(settings, grid_.size());
    if (grid_.size() > most_points_of_search)
      throw Error(Code::invalid, "reading the configuration: the grid over hyperparameters has " +
                                     std::to_string(grid_.size()) + " points, and a search takes " +
                                     std::to_string(most_points_of_search) +
                                     " at most; lower some count, or take the searcher random");
  }

  double progress(const TrialTotals &totals) const override {
    const bool metrics = rules_ == SearchRules::metrics;
    return share_done(totals, metrics ? totals.reporting_closed : totals.closed, grid_.size());
  }

  Json snapshot() const override {
    Json remaining = Json::array();
    for (uint64_t point = 0; point < remaining_; ++point) remaining.push_back(grid_.point(point));
    return {{"pending_trials", pending_},
            {"remaining_trials", std::move(remaining)},
            {"search_method_type", "grid"}};
  }

  // The points are those of the configuration: only how many are left matters.
  void restore(const Json &snapshot) override {
    pending_ = snapshot.at("pending_trials").get<int64_t>();
    remaining_ = std::min<uint64_t>(snapshot.at("remaining_trials").size(), grid_.size());
  }

 private:
  bool has_more() const override { return remaining_ > 0; }
  TrialIndex create(Decisions &decisions) override {
    return trials_.create(grid_.point(--remaining_), decisions);
  }

  const Grid grid_;
  uint64_t remaining_;
};

}  // namespace

std::unique_ptr<Method> make_random(const SearchSettings &settings, SearchRules rules,
                                    TrialTable &trials) {
  return std::make_unique<RandomSearch>(settings, rules, trials);
}

std::unique_ptr<Method> make_grid(const SearchSettings &settings, SearchRules rules,
                                  TrialTable &trials) {
  return std::make_unique<GridSearch>(settings, rules, trials);
}

}  // namespace det::search
