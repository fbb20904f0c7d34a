// det metrics.
#include <algorithm>
#include <memory>
#include <unordered_map>

#include "command.h"
#include "field_text.h"
#include "metric_names.h"
#include "table.h"

namespace det::cli {

namespace {

constexpr const char *metrics_footer = R"(Examples:
  det metrics 1                                   a row for each step of each group
  det metrics 1 --group validation                only the validations
  det metrics 1 --name loss --name accuracy       only these columns
  det metrics 1 --csv > trial1.csv                for a spreadsheet
  det metrics 1 --json | jq .metrics.loss         one JSON object per report, for programs)";

struct MetricsOptions {
  int64_t trial = 0;
  std::string group;
  std::vector<std::string> names;
  bool csv = false;
  bool json = false;
};

struct Row {
  Json group, steps, run, time;
  std::vector<Json> values;  // one for each column; null where the report has none
};

// Merges reports that follow each other with the same steps and run into one row for each group.
class RowMerger {
 public:
  using Take = std::function<void(const Row &)>;
  RowMerger(const std::vector<std::string> &columns, Take take) : take_(std::move(take)) {
    for (const std::string &column : columns) places_.emplace(column, places_.size());
  }

  void add(const Json &report) {
    const Json &steps = field(report, "steps_completed"), &run = field(report, "trial_run_id");
    if (!rows_.empty() && (rows_[0].steps != steps || rows_[0].run != run)) finish();
    Row &row = row_of(report);
    for (const auto &[name, value] : field(report, "metrics").items()) {
      const auto place = places_.find(name);
      if (place != places_.end()) row.values[place->second] = value;
    }
  }

  void finish() {
    for (const Row &row : rows_) {
      const bool empty = std::all_of(row.values.begin(), row.values.end(),
                                     [](const Json &value) { return value.is_null(); });
      if (!empty) take_(row);
    }
    rows_.clear();
  }

 private:
  Row &row_of(const Json &report) {
    const Json &group = field(report, "group");
    for (Row &row : rows_) {
      if (row.group == group) return row;
    }
    rows_.push_back({group, field(report, "steps_completed"), field(report, "trial_run_id"),
                     field(report, "time"), std::vector<Json>(places_.size())});
    return rows_.back();
  }

  std::unordered_map<std::string, size_t> places_;  // of the columns
  Take take_;
  std::vector<Row> rows_;
};

// Reports as they are, or without the metrics that were not asked for.
void print_json(const Json &report, const std::vector<std::string> &names) {
  if (names.empty()) return print(json_line(report));
  Json chosen = Json::object();
  for (const auto &[name, value] : field(report, "metrics").items()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) chosen[name] = value;
  }
  if (chosen.empty()) return;
  Json part = report;
  part["metrics"] = std::move(chosen);
  print(json_line(part));
}

std::vector<std::string> cells_of(const Row &row, std::string (*format)(const Json &),
                                  bool with_run_and_time) {
  std::vector<std::string> cells;
  const auto add = [&](const Json &value) {
    cells.push_back(value.is_null() ? "" : format(value));
  };
  add(row.group);
  add(row.steps);
  if (with_run_and_time) {
    add(row.run);
    add(row.time);
  }
  for (const Json &value : row.values) add(value);
  return cells;
}

void run_metrics(const Session &session, const MetricsOptions &options) {
  Client client = session.connect();
  const std::optional<std::string> group =
      options.group.empty() ? std::nullopt : std::optional(options.group);
  MetricNames known;
  if (group || !options.names.empty() || !options.json) {
    known = metric_names(client.metric_names(options.trial));
    known.require(options.trial, group, options.names);
  }

  if (options.json) {
    return client.each_metric(options.trial, group, [&](const Json &report) {
      print_json(report, options.names);
      return true;
    });
  }
  const std::vector<std::string> names = options.names.empty() ? known.of(group) : options.names;
  Table table(session.terminal, [&] {
    std::vector<Column> columns = {{"GROUP"}, {"STEPS", Align::right}};
    for (const std::string &name : names) columns.push_back({name, Align::right});
    return columns;
  }());
  if (options.csv) {
    std::vector<std::string> titles = {"group", "steps_completed", "trial_run_id", "time"};
    titles.insert(titles.end(), names.begin(), names.end());
    print(csv_line(titles, session.terminal));
  }
  RowMerger merger(names, [&](const Row &row) {
    if (options.csv) {
      print(csv_line(cells_of(row, text_of, true), session.terminal));
    } else {
      table.add(cells_of(row, number_of, false));
    }
  });
  client.each_metric(options.trial, group, [&](const Json &report) {
    merger.add(report);
    return true;
  });
  merger.finish();
  table.finish();
  if (!options.csv && table.empty()) {
    print("Trial " + std::to_string(options.trial) + " has no metrics yet.\n");
  }
}

}  // namespace

void add_metrics_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<MetricsOptions>();
  CLI::App *command = app.add_subcommand("metrics", "Show the metrics of a trial.");
  command->footer(metrics_footer);
  add_id(command, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("-g,--group", options->group, "Only reports of this group.")
      ->type_name("GROUP");
  command->add_option("-n,--name", options->names, "Only this metric; may be repeated.")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  CLI::Option *csv = command->add_flag("--csv", options->csv, "Comma-separated values.");
  command->add_flag("--json", options->json, "One JSON object per report.")->excludes(csv);
  command->callback([options, &session] { run_metrics(session, *options); });
}

}  // namespace det::cli
