// det export.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "wrappers/cli/commands/ids.h"
#include "wrappers/cli/commands/list.h"
#include "wrappers/cli/text/field_text.h"
#include "wrappers/cli/text/output_file.h"

namespace det::cli {

namespace {

constexpr const char *export_footer =
    R"(Tables:
  metrics      In CSV one row for each value: trial_id, group, steps_completed,
               trial_run_id, time, metric, value. In JSON lines one object for
               each report.
  trials       Hyperparameters, best validations and states.
  checkpoints  Steps, states and sizes.

Rows are written while they are read, so a store of any size can be exported.
FILE appears when it is complete. Its ending sets the format: .csv, .jsonl or
.ndjson. To make Parquet from CSV:

  duckdb -c "COPY (FROM 'metrics.csv') TO 'metrics.parquet'"

Examples:
  det export 1 metrics.csv
  det export -e 3 --table trials trials.csv)";

struct ExportOptions {
  std::string trial, file;
  int64_t experiment = 0;
  std::string table = "metrics", format;
};

// Where rows go: to a file, or to standard output.
class RowWriter {
 public:
  RowWriter(const std::string &file, const Terminal &terminal, bool csv)
      : terminal_(file.empty() ? terminal : Terminal()), csv_(csv) {
    if (!file.empty()) file_.emplace(file);
  }

  bool csv() const { return csv_; }
  int64_t rows() const { return rows_; }

  void add_titles(const std::vector<std::string> &titles) {
    if (csv_) write(csv_line(titles, terminal_));
  }
  void add(const std::vector<std::string> &cells) { add_line(csv_line(cells, terminal_)); }
  void add(const Json &object) { add_line(json_line(object)); }
  void finish() {
    if (file_) file_->finish();
  }

 private:
  void add_line(const std::string &line) {
    write(line);
    ++rows_;
  }
  void write(const std::string &line) {
    if (file_) file_->write(line);
    else print(line);
  }

  Terminal terminal_;
  bool csv_;
  std::optional<OutputFile> file_;
  int64_t rows_ = 0;
};

// What is exported: a trial, or all of an experiment, the oldest first.
struct ExportSource {
  Client &client;
  int64_t trial = 0, experiment = 0;

  void each_trial(const Visit &visit) const {
    if (trial != 0) visit(client.trial(trial));
    else client.each_trial(experiment, visit, {Order::oldest_first});
  }
};

std::string cell_of(const Json &value) { return value.is_null() ? "" : text_of(value); }

void export_metrics(const ExportSource &source, RowWriter &writer) {
  writer.add_titles(
      {"trial_id", "group", "steps_completed", "trial_run_id", "time", "metric", "value"});
  source.each_trial([&](const Json &trial) {
    const Json &id = field(trial, "id");
    source.client.each_metric(id.get<int64_t>(), std::nullopt, [&](const Json &report) {
      if (!writer.csv()) {
        Json row = {{"trial_id", id}};
        row.update(report);
        writer.add(row);
        return true;
      }
      std::vector<std::string> cells = {text_of(id)};
      for (const char *key : {"group", "steps_completed", "trial_run_id", "time"})
        cells.push_back(cell_of(field(report, key)));
      cells.resize(cells.size() + 2);
      for (const auto &[name, value] : field(report, "metrics").items()) {
        cells[cells.size() - 2] = name;
        cells.back() = cell_of(value);
        writer.add(cells);
      }
      return true;
    });
    return true;
  });
}

// Two walks: the titles stand before the first row, and a later trial may have more.
std::set<std::string> all_hparam_names(const ExportSource &source) {
  std::set<std::string> names;
  source.each_trial([&](const Json &trial) {
    for (const auto &[name, value] : flattened(field(trial, "hparams"))) names.insert(name);
    return true;
  });
  return names;
}

void export_trials(const ExportSource &source, RowWriter &writer) {
  const std::vector<const char *> keys = {
      "id",          "experiment_id", "name",     "external_id", "state",   "steps_completed",
      "best_metric", "best_steps",    "restarts", "start_time",  "end_time"};
  const std::set<std::string> names =
      writer.csv() ? all_hparam_names(source) : std::set<std::string>();
  std::vector<std::string> titles(keys.begin(), keys.end());
  for (const std::string &name : names) titles.push_back("hparams." + name);
  writer.add_titles(titles);
  source.each_trial([&](const Json &trial) {
    if (!writer.csv()) {
      writer.add(trial);
      return true;
    }
    std::vector<std::string> cells = csv_cells(trial, keys);
    std::map<std::string, std::string> values;
    for (const auto &[name, value] : flattened(field(trial, "hparams")))
      values[name] = cell_of(value);
    for (const std::string &name : names) cells.push_back(values[name]);
    writer.add(cells);
    return true;
  });
}

void export_checkpoints(const ExportSource &source, RowWriter &writer) {
  const std::vector<const char *> keys = {"uuid",  "trial_id", "trial_run_id", "steps_completed",
                                          "state", "size",     "time"};
  writer.add_titles({keys.begin(), keys.end()});
  source.each_trial([&](const Json &trial) {
    source.client.each_checkpoint(field(trial, "id").get<int64_t>(),
                                  [&](const Json &checkpoint) {
                                    if (writer.csv()) writer.add(csv_cells(checkpoint, keys));
                                    else writer.add(checkpoint);
                                    return true;
                                  },
                                  {Order::oldest_first});
    return true;
  });
}

using Export = void (*)(const ExportSource &, RowWriter &);
const std::map<std::string, Export> export_tables = {
    {"metrics", export_metrics}, {"trials", export_trials}, {"checkpoints", export_checkpoints}};

// "csv" or "jsonl".
std::string format_of(const ExportOptions &options) {
  std::string format = options.format;
  if (format.empty()) {
    const size_t dot = options.file.find_last_of("./");
    format =
        dot == options.file.npos || options.file[dot] == '/' ? "csv" : options.file.substr(dot + 1);
  }
  if (format == "csv" || format == "jsonl") return format;
  if (format == "ndjson") return "jsonl";
  if (format == "parquet")
    throw Failure(ExitCode::unsupported,
                  "det does not write Parquet; 'det help export' shows how to make it from CSV");
  throw Failure(ExitCode::usage, "'" + format + "' is not a format: choose csv or jsonl" +
                                     (options.format.empty() ? " with --format" : ""));
}

void run_export(const Session &session, ExportOptions options) {
  if (options.experiment != 0) {
    if (!options.file.empty())
      throw Failure(ExitCode::usage, "give a trial, or -e and an experiment, and one FILE");
    options.file = std::exchange(options.trial, "");
  } else if (options.trial.empty()) {
    throw Failure(ExitCode::usage, "give a trial to export, or -e and an experiment");
  }
  if (options.file == "-") options.file.clear();
  const std::string format = format_of(options);
  Client client = session.connect();
  ExportSource source{client};
  if (options.experiment != 0) {
    source.experiment = options.experiment;
    client.best_trial(options.experiment);  // an unknown one is an error
  } else {
    source.trial = find_trial(client, options.trial);
    client.trial(source.trial);
  }
  RowWriter writer(options.file, session.terminal, format == "csv");
  export_tables.at(options.table)(source, writer);
  writer.finish();
  if (!options.file.empty())
    print("Wrote " + printable(options.file) + ": " + std::to_string(writer.rows()) +
          (writer.rows() == 1 ? " row.\n" : " rows.\n"));
}

}  // namespace

void add_export_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App *command =
      app.add_subcommand("export", "Write metrics, trials or checkpoints to a file.");
  command->footer(export_footer);
  command->add_option("TRIAL", options->trial, "The trial.")->type_name("");
  command->add_option("FILE", options->file, "The file. By default it is standard output.")
      ->type_name("");
  add_experiment_option(command, options->experiment, "Export all trials of this experiment.");
  command->add_option("--table", options->table, "metrics (the default), trials or checkpoints.")
      ->type_name("TABLE")
      ->check([](const std::string &name) {
        return export_tables.count(name) != 0
                   ? std::string()
                   : "'" + name + "' is not a table: choose metrics, trials or checkpoints";
      });
  command->add_option("--format", options->format, "csv or jsonl, for any name of FILE.")
      ->type_name("FORMAT");
  command->callback([options, &session] { run_export(session, *options); });
}

}  // namespace det::cli
