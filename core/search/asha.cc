#include "core/search/asha.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/error.h"

namespace det::search {

const double worst_metric = std::numeric_limits<double>::max();

Asha::Asha(const SearchSettings &settings, SearchRules rules, const Bracket &bracket,
           TrialTable &trials)
    : settings_(settings), rules_(rules), bracket_(bracket), table_(trials) {
  for (const uint64_t length : bracket.lengths) rungs_.emplace_back().length = length;
}

void Asha::initial(Decisions &decisions) {
  const double share = std::pow(bracket_.divisor, static_cast<double>(rungs_.size() - 1));
  uint64_t count = bracket_.max_concurrent_trials;
  if (count == 0) count = share < 1e18 ? static_cast<uint64_t>(share) : bracket_.max_trials;
  count = std::clamp<uint64_t>(count, 1, bracket_.max_trials);
  for (uint64_t i = 0; i < count; ++i) start_trial(decisions);
}

void Asha::created(TrialIndex index) {
  trial(index);
  ++rungs_.front().outstanding;
}

double Asha::progress(const TrialTotals & /*totals*/) const {
  const auto most = static_cast<double>(bracket_.max_trials);
  const auto ranked = static_cast<double>(rungs_.front().ranking.size());
  const double progress = ranked / (1.2 * most);
  if (ranked < most) return progress;
  // Trials with invalid hyperparameters are completed, and not counted.
  return std::max(progress,
                  (static_cast<double>(completed_) - static_cast<double>(invalid_)) / most);
}

Asha::Trial &Asha::trial(TrialIndex index) {
  const auto found = trials_.find(index);
  if (found == trials_.end())
    throw Error(Code::invalid, "telling a search of the trial '" + table_.request_id(index) +
                                   "': it made no such trial; take the id that came with it");
  return found->second;
}

size_t Asha::share_of(size_t results) const {
  return static_cast<size_t>(static_cast<double>(results) / bracket_.divisor);
}

double Asha::signed_metric(TrialIndex index, const Json &metric) const {
  if (metric == "NaN" || metric == "Infinity" || metric == "-Infinity") return worst_metric;
  if (!metric.is_number())
    throw Error(Code::invalid, "telling a search of a validation: trial " +
                                   table_.request_id(index) + " has " + to_wire(metric) +
                                   " for the searcher metric '" + settings_.metric +
                                   "'; report a number");
  const auto value = metric.get<double>();
  return std::isfinite(value) ? settings_.sign() * value : worst_metric;
}

void Asha::start_trial(Decisions &decisions) {
  const TrialIndex index = table_.create(decisions);
  trials_.emplace(index, Trial{});
  if (rules_ == SearchRules::operations) validate_after(index, decisions);
}

void Asha::validate_after(TrialIndex index, Decisions &decisions) {
  Trial &at = trial(index);
  at.working = true;
  decisions.emplace_back(ValidateAfter{table_.request_id(index), rung_of(at).length});
}

void Asha::close(TrialIndex index, Decisions &decisions) {
  Trial &at = trial(index);
  at.closed = true;
  at.working = false;
  const std::string &id = table_.request_id(index);
  if (rules_ == SearchRules::metrics) decisions.emplace_back(StopTrial{id});
  else decisions.emplace_back(CloseTrial{id});
}

void Asha::replace(TrialIndex index, Decisions &decisions) {
  forget_results(index);
  ++invalid_;
  trial(index).exited = true;
  close(index, decisions);
  start_trial(decisions);
}

void Asha::forget_results(TrialIndex index) {
  const Trial &at = trial(index);
  // There is nothing yet in the rung that the trial is on its way to.
  const size_t reached = at.rung + (at.working ? 0 : 1);
  for (size_t rung = 0; rung < reached; ++rung) rungs_[rung].ranking.erase(index);
}

}  // namespace det::search
