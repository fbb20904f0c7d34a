#include "core/search/asha.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
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

// Written as the platform does.
Json Asha::snapshot() const {
  const bool operations = rules_ == SearchRules::operations;
  Json rungs = Json::array();
  uint64_t length_so_far = 0;
  for (const Rung &rung : rungs_) {
    Json metrics = Json::array();
    rung.ranking.each([&](const Ranking::Entry &entry) {
      Json written{{"request_id", table_.request_id(entry.trial)}, {"metric", entry.metric}};
      if (operations) written["promoted"] = entry.promoted;
      metrics.push_back(std::move(written));
    });
    length_so_far = operations ? length_so_far + rung.length : rung.length;
    Json written{{"units_needed", length_so_far},
                 {"metrics", metrics.empty() ? Json() : std::move(metrics)}};
    if (operations) {
      written["start_trials"] = 0;
      written["promote_trials"] = 0;
      written["outstanding_trials"] = rung.outstanding;
    }
    rungs.push_back(std::move(written));
  }
  std::vector<std::pair<std::string, Json>> trial_rungs, exited, closed;
  size_t working = 0;
  for (const auto &[index, at] : trials_) {
    const std::string &id = table_.request_id(index);
    trial_rungs.emplace_back(id, at.rung);
    if (at.exited) exited.emplace_back(id, true);
    if (at.closed) closed.emplace_back(id, true);
    if (at.working) ++working;
  }
  Json state{{"rungs", std::move(rungs)},
             {"trial_rungs", sorted_object(std::move(trial_rungs))},
             {"early_exit_trials", sorted_object(std::move(exited))},
             // Where metrics steer the search the platform does not keep them, and asks twice.
             {"closed_trials", sorted_object(std::move(closed))},
             {"trials_completed", completed_},
             {"invalid_trials", invalid_}};
  if (operations) state["pending_trials"] = settings_.stop_once ? 0 : working;
  state["search_method_type"] = "asha";
  return state;
}

void Asha::restore(const Json &state) {
  trials_.clear();
  for (const auto &[id, rung] : object_in(state, "trial_rungs").items()) {
    if (!(rung.get<size_t>() < rungs_.size()))
      throw std::out_of_range("trial_rungs has no such rung");
    trials_[table_.add(id)].rung = rung.get<size_t>();
  }
  for (size_t r = 0; r < rungs_.size(); ++r) {
    Rung &rung = rungs_[r];
    const Json &written = state.at("rungs").at(r);
    rung.ranking.clear();
    for (const Json &entry : written.at("metrics")) {
      const TrialIndex index = table_.add(entry.at("request_id").get<std::string>());
      rung.ranking.append(
          {entry.at("metric").get<double>(), index, entry.value("promoted", false)});
      if (trial(index).rung == r) trial(index).working = false;
    }
    rung.outstanding = written.value("outstanding_trials", int64_t{0});
    rung.settled = false;
  }
  for (const auto &[id, yes] : object_in(state, "early_exit_trials").items()) {
    Trial &at = trial(table_.add(id));
    at.exited = true;
    at.working = false;
  }
  for (const auto &[id, yes] : object_in(state, "closed_trials").items()) {
    Trial &at = trial(table_.add(id));
    at.closed = true;
    at.working = false;
  }
  completed_ = state.at("trials_completed").get<uint64_t>();
  invalid_ = state.at("invalid_trials").get<uint64_t>();
}

}  // namespace det::search
