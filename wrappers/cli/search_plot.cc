#include "search_plot.h"

#include <cmath>

#include "field_text.h"
#include "search_figures.h"

namespace det::cli {

namespace {

Json json_value(const Dimension &dimension, double value) {
  if (std::isnan(value)) return nullptr;
  if (dimension.scale == Scale::categories) return dimension.text_of(value);
  const bool whole = std::fabs(value) < 1e15 && value == std::floor(value);
  return whole ? Json(static_cast<int64_t>(value)) : Json(value);
}

void print_trials_json(const Search &search) {
  Json hparams = Json::array(), trials = Json::array();
  for (const Dimension &dimension : search.dimensions)
    hparams.push_back({{"name", dimension.name},
                       {"scale", dimension.scale == Scale::log          ? "log"
                                 : dimension.scale == Scale::categories ? "categories"
                                                                        : "linear"}});
  for (const SearchedTrial &trial : search.trials) {
    Json values = Json::object();
    for (size_t i = 0; i < search.dimensions.size(); ++i)
      values[search.dimensions[i].name] = json_value(search.dimensions[i], trial.values[i]);
    trials.push_back({{"trial_id", trial.id},
                      {"metric", json_value(search.metric, trial.metric)},
                      {"hparams", values}});
  }
  print(json_line({{"experiment_id", search.experiment},
                   {"searcher_metric", search.metric.name},
                   {"smaller_is_better", search.smaller_is_better},
                   {"hparams", std::move(hparams)},
                   {"trials", std::move(trials)}}));
}

void print_trials_csv(const Search &search, const Terminal &terminal) {
  std::vector<std::string> cells = {"trial_id", search.metric.name};
  for (const Dimension &dimension : search.dimensions) cells.push_back("hparams." + dimension.name);
  print(csv_line(cells, terminal));
  for (const SearchedTrial &trial : search.trials) {
    cells = {std::to_string(trial.id), text_of(json_value(search.metric, trial.metric))};
    for (size_t i = 0; i < search.dimensions.size(); ++i) {
      const Json value = json_value(search.dimensions[i], trial.values[i]);
      cells.push_back(value.is_null() ? "" : text_of(value));
    }
    print(csv_line(cells, terminal));
  }
}

void print_importance_json(const Search &search, const Bars &bars) {
  Json hparams = Json::array();
  for (const Bar &bar : bars.bars)
    hparams.push_back({{"name", bar.name}, {"importance", bar.value}, {"error", bar.error}});
  print(json_line({{"experiment_id", search.experiment},
                   {"searcher_metric", search.metric.name},
                   {"trials", search.trials.size()},
                   {"hparams", std::move(hparams)},
                   {"notes", bars.notes}}));
}

void print_importance_csv(const Bars &bars, const Terminal &terminal) {
  print(csv_line({"name", "importance", "error"}, terminal));
  for (const Bar &bar : bars.bars)
    print(csv_line({bar.name, text_of(Json(bar.value)), text_of(Json(bar.error))}, terminal));
}

void use_log_metric(Search &search) {
  for (const SearchedTrial &trial : search.trials)
    if (trial.metric <= 0)
      throw Failure(ExitCode::state, "trial " + std::to_string(trial.id) + " has the " +
                                         search.metric.name + " " + short_number(trial.metric) +
                                         ", which a log axis does not have; leave --log-y out");
  search.metric.scale = Scale::log;
}

}  // namespace

void add_search_plot(CLI::App *command, SearchPlot &plot) {
  CLI::Option *parallel =
      command->add_flag("--parallel", plot.parallel,
                        "Of an experiment: a line for each trial through its hyperparameters.");
  CLI::Option *importance = command->add_flag(
      "--importance", plot.importance, "Of an experiment: how important each hyperparameter is.");
  CLI::Option *slices = command->add_flag("--slices", plot.slices,
                                          "Of an experiment: the metric over each hyperparameter.");
  parallel->excludes(importance, slices);
  importance->excludes(slices);
}

void plot_search(const Session &session, int64_t experiment, const SearchPlot &plot,
                 bool log_metric, PlotValues values, const PlotOutput &output) {
  Client client = session.connect();
  Search search = read_search(client, experiment);
  if (log_metric) use_log_metric(search);
  const bool csv = values == PlotValues::csv;
  if (plot.importance) {
    const Bars bars = importance_of(search);
    if (values == PlotValues::drawn) return show_plot(session, bars, output);
    return csv ? print_importance_csv(bars, session.terminal) : print_importance_json(search, bars);
  }
  if (values != PlotValues::drawn)
    return csv ? print_trials_csv(search, session.terminal) : print_trials_json(search);
  if (plot.parallel) show_plot(session, parallel_of(search), output);
  else show_plot(session, slices_of(search), output);
}

}  // namespace det::cli
