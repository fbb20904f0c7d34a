// The state of a successive halving, written as the platform does.
#include <stdexcept>
#include <string>
#include <utility>

#include "core/search/asha.h"

namespace det::search {

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
