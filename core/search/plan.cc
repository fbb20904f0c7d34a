// How much a search is going to train.
#include <algorithm>
#include <map>

#include "core/search/brackets.h"
#include "core/search/grid.h"
#include "core/search/search.h"
#include "core/search/settings.h"

namespace det::search {

namespace {

// In each rung the best share goes on, and at least one.
void plan_bracket(const Bracket &bracket, std::map<uint64_t, uint64_t> &trials_of_length) {
  uint64_t trials = bracket.max_trials;
  for (const uint64_t length : bracket.lengths) {
    uint64_t going_on = 0;
    if (length != bracket.lengths.back())
      going_on = std::max<uint64_t>(
          static_cast<uint64_t>(static_cast<double>(trials) / bracket.divisor), 1);
    trials_of_length[length] += trials - going_on;
    trials = going_on;
  }
}

}  // namespace

std::vector<PlannedTrials> plan_search(const Json &config, SearchRules rules) {
  const SearchSettings settings = read_search_settings(config.value("searcher", Json()), rules);
  using Method = SearchSettings::Method;
  if (settings.method == Method::custom) return {};
  if (settings.method == Method::single || settings.method == Method::random)
    return {{settings.max_trials, settings.max_length}};
  if (settings.method == Method::grid) {
    const Grid grid(
        read_hyperparameters(config.value("hyperparameters", Json())),
        rules == SearchRules::metrics ? Grid::EmptyGroups::kept : Grid::EmptyGroups::left_out);
    return {{grid.size(), settings.max_length}};
  }
  std::map<uint64_t, uint64_t> trials_of_length;
  for (const Bracket &bracket : brackets(settings)) plan_bracket(bracket, trials_of_length);
  std::vector<PlannedTrials> plan;
  for (const auto &[length, trials] : trials_of_length) plan.push_back({trials, length});
  return plan;
}

}  // namespace det::search
