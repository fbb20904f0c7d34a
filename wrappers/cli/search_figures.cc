#include "search_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "exit_code.h"
#include "random_forest.h"

namespace det::cli {

namespace {

constexpr size_t least_trials = 10, hinting_trials = 30;
constexpr double little_explained = 0.2;

std::string title_of(const Search &search) {
  return "experiment " + std::to_string(search.experiment) + ": " + search.name;
}

// From 0, ties share theirs: one wild trial does not decide.
std::vector<double> ranks_of(const std::vector<SearchedTrial> &trials) {
  std::vector<double> ranks;
  for (size_t begin = 0, end = 0; begin < trials.size(); begin = end) {
    while (end < trials.size() && trials[end].metric == trials[begin].metric) ++end;
    ranks.insert(ranks.end(), end - begin, static_cast<double>(begin + end - 1) / 2);
  }
  return ranks;
}

std::string text_with(const char *format, double value) {
  char text[128];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

}  // namespace

Parallel parallel_of(const Search &search) {
  Parallel parallel{title_of(search), search.dimensions, {}};
  parallel.dimensions.push_back(search.metric);
  for (auto trial = search.trials.rbegin(); trial != search.trials.rend(); ++trial) {
    parallel.trials.push_back(trial->values);
    parallel.trials.back().push_back(trial->metric);
  }
  return parallel;
}

Panels slices_of(const Search &search) {
  Panels panels{title_of(search), {}};
  for (size_t i = 0; i < search.dimensions.size(); ++i) {
    Panel panel;
    panel.dots = true;
    panel.x = search.dimensions[i];
    panel.y = search.metric;
    panel.series.emplace_back();
    for (const SearchedTrial &trial : search.trials)
      if (std::isfinite(trial.values[i]))
        panel.series[0].points.push_back({trial.values[i], trial.metric});
    panels.panels.push_back(std::move(panel));
  }
  return panels;
}

Bars importance_of(const Search &search) {
  const size_t count = search.trials.size();
  const std::string of = "experiment " + std::to_string(search.experiment);
  if (count < least_trials)
    throw Failure(ExitCode::state,
                  of + " is too small to tell what is important: " + std::to_string(count) +
                      " of its trials have a value of " + search.metric.name + ", and " +
                      std::to_string(least_trials) + " are needed");
  if (search.trials.front().metric == search.trials.back().metric)
    throw Failure(ExitCode::state, "all trials of " + of + " have the same " + search.metric.name);
  std::vector<Variable> variables;
  for (size_t i = 0; i < search.dimensions.size(); ++i) {
    variables.push_back({search.dimensions[i].scale == Scale::categories, {}});
    for (const SearchedTrial &trial : search.trials)
      variables.back().values.push_back(trial.values[i]);
  }
  const ForestImportance forest = forest_importance(variables, ranks_of(search.trials));
  Bars bars{title_of(search), "importance for " + search.metric.name, {}, {}};
  for (size_t i = 0; i < variables.size(); ++i)
    bars.bars.push_back(
        {search.dimensions[i].name, forest.variables[i].mean, forest.variables[i].error});
  std::stable_sort(bars.bars.begin(), bars.bars.end(),
                   [](const Bar &a, const Bar &b) { return a.value > b.value; });
  bars.notes.push_back(text_with("The forest explains %.0f %% of the differences between ",
                                 100 * std::max(forest.explained, 0.0)) +
                       std::to_string(count) + " trials that it did not see.");
  if (forest.explained < little_explained)
    bars.notes.push_back("That is little: these importances may be chance.");
  if (count < hinting_trials)
    bars.notes.push_back("So few trials show only what is plain; more of them would tell more.");
  return bars;
}

}  // namespace det::cli
