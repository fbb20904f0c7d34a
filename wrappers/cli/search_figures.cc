#include "search_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <utility>

#include "core/base/printable.h"
#include "exit_code.h"
#include "field_text.h"
#include "random_forest.h"

namespace det::cli {

namespace {

constexpr size_t least_trials = 10, hinting_trials = 30;
constexpr double little_explained = 0.2;

using Values = std::map<std::string, std::vector<std::pair<size_t, Json>>>;  // by trial

// What the configuration says of the hyperparameter with this dotted name.
const Json &declared(const Json &hyperparameters, const std::string &name) {
  const Json *at = &hyperparameters;
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    at = &field(*at, name.substr(begin, end - begin).c_str());
    begin = end + 1;
  }
  return *at;
}

// Numbers in their order, then texts.
bool stands_before(const Json &a, const Json &b) {
  if (a.is_number() != b.is_number()) return a.is_number();
  return a.is_number() ? a.get<double>() < b.get<double>() : text_of(a) < text_of(b);
}

// Adds the hyperparameter to the search, unless all trials have the same.
void add_dimension(Search &search, const Json &hyperparameters, const std::string &name,
                   const std::vector<std::pair<size_t, Json>> &values) {
  const bool everywhere = values.size() == search.trials.size();
  if (everywhere && std::all_of(values.begin(), values.end(), [&](const auto &each) {
        return each.second == values.front().second;
      }))
    return;
  const Json &kind = field(declared(hyperparameters, name), "type");
  const bool numbers = kind != "categorical" &&
                       std::all_of(values.begin(), values.end(),
                                   [](const auto &each) { return each.second.is_number(); });
  Dimension dimension{printable(name)};
  std::vector<Json> categories;
  if (numbers) {
    const bool positive = std::all_of(values.begin(), values.end(), [](const auto &each) {
      return each.second.template get<double>() > 0;
    });
    if (kind == "log" && positive) dimension.scale = Scale::log;
    dimension.whole = std::all_of(values.begin(), values.end(),
                                  [](const auto &each) { return each.second.is_number_integer(); });
  } else {
    dimension.scale = Scale::categories;
    for (const auto &each : values)
      if (std::find(categories.begin(), categories.end(), each.second) == categories.end())
        categories.push_back(each.second);
    std::sort(categories.begin(), categories.end(), stands_before);
    for (const Json &category : categories)
      dimension.categories.push_back(printable(number_of(category)));
  }
  for (SearchedTrial &trial : search.trials)
    trial.values.push_back(std::numeric_limits<double>::quiet_NaN());
  for (const auto &each : values)
    search.trials[each.first].values.back() =
        numbers ? each.second.get<double>()
                : static_cast<double>(std::find(categories.begin(), categories.end(), each.second) -
                                      categories.begin());
  search.dimensions.push_back(std::move(dimension));
}

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

Search read_search(Client &client, int64_t experiment) {
  Search search;
  search.experiment = experiment;
  const Json best = client.best_trial(experiment), about = client.experiment(experiment);
  search.name = printable(text_of(field(about, "name")));
  search.metric = {printable(text_of(field(best, "searcher_metric")))};
  search.smaller_is_better = field(best, "smaller_is_better") != false;
  Values values;
  std::vector<std::string> names;
  const auto take = [&](const Json &trial) {
    const double metric = double_of(field(trial, "best_metric"));
    if (!std::isfinite(metric)) return true;
    for (const auto &[name, value] : flattened(field(trial, "hparams"))) {
      if (!values.contains(name)) names.push_back(name);
      values[name].emplace_back(search.trials.size(), value);
    }
    search.trials.push_back({field(trial, "id").get<int64_t>(), metric, {}});
    return true;
  };
  client.each_trial(experiment, take, {Order::best_first});
  const std::string of = "experiment " + std::to_string(experiment);
  if (search.trials.empty())
    throw Failure(ExitCode::state,
                  of + " has no trial with a finite value of its searcher's metric yet");
  for (const std::string &name : names)
    add_dimension(search, field(field(about, "config"), "hyperparameters"), name, values[name]);
  if (search.dimensions.empty())
    throw Failure(ExitCode::state, "all trials of " + of + " have the same hyperparameters");
  return search;
}

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
