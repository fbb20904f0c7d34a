#include "search_results.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/base/printable.h"
#include "exit_code.h"
#include "field_text.h"

namespace det::cli {

namespace {

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

}  // namespace det::cli
