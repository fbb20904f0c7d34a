// adaptive_asha: several successive halvings side by side, that stop trials more and less early.
#include <algorithm>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/search/asha.h"

namespace det::search {

namespace {

class AdaptiveAsha : public Method {
 public:
  AdaptiveAsha(std::vector<std::unique_ptr<Method>> brackets, SearchRules rules, TrialTable &trials)
      : brackets_(std::move(brackets)), rules_(rules), table_(trials) {}

  void initial(Decisions &decisions) override {
    for (size_t bracket = 0; bracket < brackets_.size(); ++bracket)
      tell(bracket, [&](Method &method) { method.initial(decisions); });
  }
  void created(TrialIndex trial) override {
    tell(bracket_of(trial), [&](Method &method) { method.created(trial); });
  }
  void validation_completed(TrialIndex trial, const Json &metric, Decisions &decisions) override {
    tell(bracket_of(trial),
         [&](Method &method) { method.validation_completed(trial, metric, decisions); });
  }
  void validated(TrialIndex trial, const Json &metrics, Decisions &decisions) override {
    tell(bracket_of(trial), [&](Method &method) { method.validated(trial, metrics, decisions); });
  }
  void exited_early(TrialIndex trial, ExitReason reason, Decisions &decisions) override {
    tell(bracket_of(trial), [&](Method &method) { method.exited_early(trial, reason, decisions); });
  }
  void closed(TrialIndex trial, Decisions &decisions) override {
    tell(bracket_of(trial), [&](Method &method) { method.closed(trial, decisions); });
  }

  double progress(const TrialTotals &totals) const override {
    double sum = 0;
    for (const auto &bracket : brackets_) sum += bracket->progress(totals);
    return sum / static_cast<double>(brackets_.size());
  }

  Json snapshot() const override {
    std::vector<std::pair<std::string, Json>> trial_table;
    for (TrialIndex trial = 0; trial < bracket_of_.size(); ++trial)
      trial_table.emplace_back(table_.request_id(trial), bracket_of_[trial]);
    Json state = Json::object();
    if (rules_ == SearchRules::operations)
      state["sub_search_units_completed"] = std::vector<int>(brackets_.size(), 0);
    state["trial_table"] = sorted_object(std::move(trial_table));
    state["sub_search_states"] = Json::array();
    for (const auto &bracket : brackets_) state["sub_search_states"].push_back(bracket->snapshot());
    state["search_method_type"] = "adaptive_asha";
    return state;
  }

  void restore(const Json &state) override {
    for (size_t bracket = 0; bracket < brackets_.size(); ++bracket)
      brackets_[bracket]->restore(state.at("sub_search_states").at(bracket));
    bracket_of_.assign(table_.size(), 0);
    for (const auto &[id, bracket] : object_in(state, "trial_table").items())
      bracket_of_.at(table_.add(id)) = bracket.get<size_t>();
  }

 private:
  // The trials that a bracket makes are its own.
  template <class Tell>
  void tell(size_t bracket, Tell tell) {
    tell(*brackets_.at(bracket));
    bracket_of_.resize(table_.size(), bracket);
  }

  size_t bracket_of(TrialIndex trial) const {
    if (trial >= bracket_of_.size())
      throw Error(Code::invalid, "telling a search of the trial '" + table_.request_id(trial) +
                                     "': it made no such trial; take the id that came with it");
    return bracket_of_[trial];
  }

  const std::vector<std::unique_ptr<Method>> brackets_;
  const SearchRules rules_;
  TrialTable &table_;
  std::vector<size_t> bracket_of_;
};

void require_rising(const Bracket &bracket) {
  if (std::ranges::adjacent_find(bracket.lengths) == bracket.lengths.end()) return;
  std::string lengths;
  for (const uint64_t length : bracket.lengths)
    lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
  throw Error(Code::invalid,
              "reading the configuration: the rungs of searcher would have the lengths " + lengths +
                  ", of which two are equal; raise max_length, or lower num_rungs, max_rungs or "
                  "bracket_rungs");
}

}  // namespace

std::unique_ptr<Method> make_asha(const SearchSettings &settings, SearchRules rules,
                                  TrialTable &trials) {
  std::vector<std::unique_ptr<Method>> halvings;
  for (const Bracket &bracket : brackets(settings)) {
    if (rules == SearchRules::operations) require_rising(bracket);
    const auto make = rules == SearchRules::metrics ? make_asha_metrics
                      : settings.stop_once          ? make_asha_stopping
                                                    : make_asha_promotion;
    halvings.push_back(make(settings, bracket, trials));
  }
  if (settings.method == SearchSettings::Method::asha) return std::move(halvings.front());
  return std::make_unique<AdaptiveAsha>(std::move(halvings), rules, trials);
}

}  // namespace det::search
