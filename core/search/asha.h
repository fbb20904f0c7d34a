// Asynchronous successive halving: trials climb from rung to rung, each rung training them longer,
// and only the best share of each goes on. What the three ways to decide it have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/search/brackets.h"
#include "core/search/method.h"
#include "core/search/ranking.h"

namespace det::search {

class Asha : public Method {
 public:
  Asha(const SearchSettings &settings, SearchRules rules, const Bracket &bracket,
       TrialTable &trials);

  void initial(Decisions &decisions) override;
  void created(TrialIndex trial) override;
  double progress(const TrialTotals &totals) const override;
  Json snapshot() const override;
  void restore(const Json &snapshot) override;

 protected:
  struct Rung {
    uint64_t length = 0;
    Ranking ranking;
    int64_t outstanding = 0;  // operations to this rung that are under way
    bool settled = true;      // no trial came since the last close-out
  };
  struct Trial {
    size_t rung = 0;      // the one it is on its way to, or the last where it has a result
    bool exited = false;  // early
    bool closed = false;  // gets no more operations
    bool working = true;  // has an operation that is not completed
  };

  Trial &trial(TrialIndex index);
  Rung &rung_of(const Trial &trial) { return rungs_[trial.rung]; }
  bool is_top(const Trial &trial) const { return trial.rung + 1 == rungs_.size(); }
  bool may_start_trial() const { return trials_.size() - invalid_ < bracket_.max_trials; }
  size_t share_of(size_t results) const;  // how many of so many results go on

  // The searcher metric of a trial, smaller being better. What is not finite is the worst there
  // is. Throws Code::invalid for what is no number.
  double signed_metric(TrialIndex index, const Json &metric) const;

  void start_trial(Decisions &decisions);
  void validate_after(TrialIndex index, Decisions &decisions);
  void close(TrialIndex index, Decisions &decisions);
  void forget_results(TrialIndex index);
  // Its hyperparameters are no good: another trial takes its place, as if it had never been.
  void replace(TrialIndex index, Decisions &decisions);

  const SearchSettings settings_;
  const SearchRules rules_;
  const Bracket bracket_;
  TrialTable &table_;
  std::vector<Rung> rungs_;
  std::unordered_map<TrialIndex, Trial> trials_;
  uint64_t completed_ = 0;
  uint64_t invalid_ = 0;
};

// What a trial that exited early is ranked with.
extern const double worst_metric;

std::unique_ptr<Method> make_asha_promotion(const SearchSettings &settings, const Bracket &bracket,
                                            TrialTable &trials);
std::unique_ptr<Method> make_asha_stopping(const SearchSettings &settings, const Bracket &bracket,
                                           TrialTable &trials);
std::unique_ptr<Method> make_asha_metrics(const SearchSettings &settings, const Bracket &bracket,
                                          TrialTable &trials);

}  // namespace det::search
