// det metrics.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/text/dotted_name.h"
#include "core/base/text/string_hash.h"
#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/list.h"
#include "wrappers/cli/commands/metric_names.h"
#include "wrappers/cli/library_client.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/pager.h"

namespace det::cli {

namespace {

// Reports of metrics as rows: one for each step of each group.
struct MetricRow {
  Json group, steps, run, time;
  std::vector<Json> values;  // one for each column; null where the report has none
};

// Merges reports that follow each other with the same steps and run into one row for each group.
class RowMerger {
 public:
  // Answers whether more rows are wanted.
  using Take = std::function<bool(const MetricRow &)>;
  RowMerger(const std::vector<std::string> &columns, Take take);

  bool add(JsonCursor &report);
  bool finish();  // what has not been taken yet

 private:
  MetricRow &row_of(MetricRow &&report);
  bool take_values(JsonCursor metrics, const std::string &prefix, MetricRow &row);

  // Of the columns.
  std::unordered_map<std::string, size_t, StringHash, std::equal_to<>> places_;
  Take take_;
  std::vector<MetricRow> rows_;
};

RowMerger::RowMerger(const std::vector<std::string> &columns, Take take) : take_(std::move(take)) {
  for (const std::string &column : columns) places_.emplace(column, places_.size());
}

bool RowMerger::add(JsonCursor &report) {
  MetricRow read;
  std::string_view metrics = "{}";
  report.enter_object();
  for (std::string_view name; report.next_member(name);) {
    if (name == "group") read.group = report.value();
    else if (name == "steps_completed") read.steps = report.value();
    else if (name == "trial_run_id") read.run = report.value();
    else if (name == "time") read.time = report.value();
    else if (name == "metrics") metrics = report.text();
    else report.text();
  }
  // Those that belong to no step are each of a time of their own.
  const bool same = rows_.empty() || (!read.steps.is_null() && rows_[0].steps == read.steps &&
                                      rows_[0].run == read.run);
  if (!same && !finish()) return false;
  take_values(JsonCursor(metrics, "the metrics of a report"), "", row_of(std::move(read)));
  return true;
}

bool RowMerger::finish() {
  const std::vector<MetricRow> rows = std::move(rows_);
  rows_.clear();
  return std::all_of(rows.begin(), rows.end(), [&](const MetricRow &row) {
    const bool empty = std::all_of(row.values.begin(), row.values.end(),
                                   [](const Json &value) { return value.is_null(); });
    return empty || take_(row);
  });
}

MetricRow &RowMerger::row_of(MetricRow &&report) {
  for (MetricRow &row : rows_) {
    if (row.group == report.group) return row;
  }
  report.values.resize(places_.size());
  return rows_.emplace_back(std::move(report));
}

// Values in an object have its name before theirs: "agent.memory_free". False: there was nothing.
bool RowMerger::take_values(JsonCursor metrics, const std::string &prefix, MetricRow &row) {
  if (!metrics.at_object()) return false;
  metrics.enter_object();
  bool any = false;
  for (std::string_view name; metrics.next_member(name); any = true) {
    std::string dotted;
    if (!prefix.empty()) name = dotted = prefix + std::string(name);
    const auto place = places_.find(name);
    const bool wanted = place != places_.end();
    if (metrics.at_object()) {
      const JsonCursor inner(metrics.text(), "nested metrics");
      if (!take_values(inner, std::string(name) + ".", row) && wanted)
        row.values[place->second] = Json::object();
    } else if (wanted) {
      row.values[place->second] = metrics.value();
    } else {
      metrics.text();
    }
  }
  return any;
}

constexpr const char *metrics_footer =
    R"(KEY is steps, or the name of a metric.

Examples:
  det metrics 1 loss accuracy
  det metrics 1 -g validation -s accuracy -r -n 1)";

struct MetricsOptions : ListOptions {
  int64_t trial = 0;
  std::string group;
  std::vector<std::string> names, columns;  // by --name, and as arguments

  Listing listing() const { return {reverse ? Order::newest_first : Order::oldest_first}; }
  std::optional<std::string> one_group() const {
    return group.empty() ? std::nullopt : std::optional(group);
  }
};

std::vector<std::string> metric_cells(const MetricRow &row, std::string (*format)(const Json &),
                                      bool with_run_and_time) {
  std::vector<std::string> cells;
  const auto add = [&](const Json &value) {
    cells.push_back(value.is_null() ? "" : format(value));
  };
  add(row.group);
  // What the profiler measured is of a time.
  add(row.steps.is_null() && !with_run_and_time ? row.time : row.steps);
  if (with_run_and_time) {
    add(row.run);
    add(row.time);
  }
  for (const Json &value : row.values) add(value);
  return cells;
}

// The report as it is, or without the metrics that were not asked for; null where none is left.
Json chosen_part(const Json &report, const std::vector<std::string> &names) {
  if (names.empty()) return report;
  Json chosen = Json::object();
  each_dotted_name(field(report, "metrics"), [&](const std::string &name, const Json &value) {
    if (std::find(names.begin(), names.end(), name) != names.end()) chosen[name] = value;
  });
  if (chosen.empty()) return nullptr;
  Json part = report;
  part["metrics"] = std::move(chosen);
  return part;
}

void print_reports(Client &client, const MetricsOptions &options) {
  std::vector<Json> held;
  int64_t left = options.count;
  client.each_report(
      options.trial, options.one_group(),
      [&](JsonCursor &report) {
        if (options.names.empty() && options.sort.empty()) {
          print(json_text_line(report.text()));
          return --left != 0;
        }
        Json part = chosen_part(report.value(), options.names);
        if (part.is_null()) return true;
        if (!options.sort.empty()) {
          held.push_back(std::move(part));
          return true;
        }
        print(json_line(part));
        return --left != 0;
      },
      options.listing());
  sort_rows(held, options, [&](const Json &report) -> const Json & {
    static const Json none;
    if (options.sort == "steps") return field(report, "steps_completed");
    const Json *found = find_by_dotted_name(field(report, "metrics"), options.sort);
    return found != nullptr ? *found : none;
  });
  for (const Json &report : held) print(json_line(report));
}

// Calls `take` for the rows that were asked for, in their order.
void each_row(Client &client, const MetricsOptions &options, const std::vector<std::string> &names,
              const std::function<void(const MetricRow &)> &take) {
  std::vector<MetricRow> held;
  int64_t left = options.count;
  RowMerger merger(names, [&](const MetricRow &row) {
    if (!options.sort.empty()) {
      held.push_back(row);
      return true;
    }
    take(row);
    return --left != 0;
  });
  bool more = true;
  client.each_report(
      options.trial, options.one_group(),
      [&](JsonCursor &report) { return more = merger.add(report); }, options.listing());
  if (more) merger.finish();
  const auto column = std::find(names.begin(), names.end(), options.sort) - names.begin();
  sort_rows(held, options, [&](const MetricRow &row) -> const Json & {
    return options.sort == "steps" ? row.steps : row.values[static_cast<size_t>(column)];
  });
  for (const MetricRow &row : held) take(row);
}

void print_metrics(const Session &session, Client &client, const MetricsOptions &options,
                   const std::vector<std::string> &names) {
  if (options.csv) {
    std::vector<std::string> titles = {"group", "steps_completed", "trial_run_id", "time"};
    titles.insert(titles.end(), names.begin(), names.end());
    print(csv_line(titles, session.terminal));
    return each_row(client, options, names, [&](const MetricRow &row) {
      print(csv_line(metric_cells(row, text_of, true), session.terminal));
    });
  }
  std::vector<Column> columns = {{"GROUP"}, {"STEPS", Align::right}};
  for (const std::string &name : names) columns.push_back({name, Align::right});
  Table table(session.terminal, columns);
  each_row(client, options, names,
           [&](const MetricRow &row) { table.add(metric_cells(row, number_of, false)); });
  table.finish();
  if (table.empty()) print("Trial " + std::to_string(options.trial) + " has no metrics yet.\n");
}

void run_metrics(const Session &session, MetricsOptions &options) {
  options.names.insert(options.names.end(), options.columns.begin(), options.columns.end());
  Client client = session.connect();
  MetricNames known;
  if (!options.group.empty() || !options.names.empty() || !options.sort.empty() || !options.json) {
    known = metric_names(client.metric_names(options.trial));
    if (options.one_group() && !known.has(options.one_group(), {}))
      add_from_reports(client, options.trial, options.group, known);
    known.require(options.trial, options.one_group(), options.names);
  }
  const std::vector<std::string> names =
      options.names.empty() ? known.of(options.one_group()) : options.names;
  if (!options.sort.empty()) {
    std::vector<SortKey> keys = {{"steps", ""}};
    for (const std::string &name : names) keys.push_back({name.c_str(), ""});
    sort_key(keys, options.sort);
  }
  const Pager pager(session.terminal, session.pager);
  if (options.json) print_reports(client, options);
  else print_metrics(session, client, options, names);
}

}  // namespace

void add_metrics_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<MetricsOptions>();
  CLI::App *command = app.add_subcommand("metrics", "Show the metrics of a trial.");
  command->footer(metrics_footer);
  add_trial(command, session, "TRIAL", options->trial, "The trial.")->required();
  command->add_option("METRIC", options->columns, "Show only these metrics.")->type_name("");
  command->add_option("-g,--group", options->group, "Show only this group.")->type_name("GROUP");
  command->add_option("--name", options->names, "Show only this metric. You can repeat the option.")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  add_list_options(command, *options);
  command->callback([options, &session] { run_metrics(session, *options); });
}

}  // namespace det::cli
