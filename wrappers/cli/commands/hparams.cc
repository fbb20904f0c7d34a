// det hparams.
#include <algorithm>
#include <cmath>
#include <memory>

#include "wrappers/cli/command.h"
#include "wrappers/cli/plot/series.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *hparams_footer =
    R"(Shows an importance from 0 to 1 for each hyperparameter. It is the part of the
differences between the trials that the hyperparameter makes, by itself or
together with others. A random forest over the ranks of the trials computes it,
as for 'det plot --importance'. 'p' is how often chance alone explains as much
as the hyperparameter does by itself.

Each picture shows the metric for one range of values, from the best to the
worst trial. The heavy part is the middle half, the dot is the median.

Example:
  det hparams 3)";

constexpr int picture_width = 32;
constexpr size_t most_groups = 12;
constexpr size_t few_trials = 10;

struct HparamsOptions {
  int64_t experiment = 0;
  bool json = false;
};

std::string sureness(double p_value) {
  if (p_value < 0.01) return "clear";
  return p_value < 0.05 ? "likely" : "may be chance";
}

std::string rough(const Json &value) {
  if (!value.is_number_float()) return printable(text_of(value));
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value.get<double>());
  return text;
}

std::string label_of(const Json &group) {
  const Json &from = field(group, "from"), &to = field(group, "to");
  return shortened(from == to ? rough(from) : rough(from) + " to " + rough(to), 24, {});
}

// ", larger is better", where there is such a trend.
std::string direction_of(const Json &hparam, bool smaller_metric) {
  const Json &trend = field(hparam, "trend");
  if (!trend.is_number() || std::fabs(trend.get<double>()) < 0.3) return "";
  const bool rises = trend.get<double>() > 0;
  return rises == smaller_metric ? ", smaller is better" : ", larger is better";
}

// A place for each of `quantiles` (least, quarter, median, quarter, most) between low and high.
std::string picture_of(const std::vector<double> &quantiles, double low, double high,
                       const Terminal &terminal) {
  const auto place = [&](double value) {
    const double part = high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0.5;
    return static_cast<int>(std::lround(part * (picture_width - 1)));
  };
  std::string out;
  for (int at = 0; at < picture_width; ++at) {
    const auto within = [&](size_t from, size_t to) {
      return at >= place(quantiles[from]) && at <= place(quantiles[to]);
    };
    if (at == place(quantiles[2])) out += terminal.utf8 ? "●" : "o";
    else if (within(1, 3)) out += terminal.utf8 ? "━" : "=";
    else if (within(0, 4)) out += terminal.utf8 ? "─" : "-";
    else out += " ";
  }
  return out;
}

std::vector<double> quantiles_of(const Json &group) {
  std::vector<double> quantiles;
  for (const Json &value : field(group, "metric")) quantiles.push_back(double_of(value));
  return quantiles;
}

// Of all pictures, so that they can be compared.
std::pair<double, double> range_of(const Json &hparams) {
  double low = INFINITY, high = -INFINITY;
  for (const Json &hparam : hparams) {
    for (const Json &group : field(hparam, "groups")) {
      for (const double value : quantiles_of(group)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  return {low, high};
}

void print_groups(const Session &session, const Json &hparam, std::pair<double, double> range) {
  const Json &groups = field(hparam, "groups");
  const size_t count = std::min(groups.size(), most_groups);
  size_t width = 0;
  for (size_t i = 0; i < count; ++i) width = std::max(width, display_width(label_of(groups[i])));
  for (size_t i = 0; i < count; ++i) {
    const std::vector<double> quantiles = quantiles_of(groups[i]);
    const std::string label = label_of(groups[i]);
    const Json &trials = field(groups[i], "trials");
    std::string line = "  " + std::string(width - display_width(label), ' ') + label + "  ";
    if (quantiles.empty()) {
      line += "no finite value";
    } else {
      line += picture_of(quantiles, range.first, range.second, session.terminal) + "  " +
              short_number(quantiles[2]);
    }
    print(line + ", " + text_of(trials) + (trials == 1 ? " trial\n" : " trials\n"));
  }
  if (groups.size() > count)
    print("  and " + std::to_string(groups.size() - count) + " more values\n");
}

void run_hparams(const Session &session, const HparamsOptions &options) {
  const Json answer = session.connect().hparam_importance(options.experiment);
  if (options.json) return print(json_line(answer));
  const Json &hparams = field(answer, "hparams");
  const bool smaller = field(answer, "smaller_is_better") != false;
  if (hparams.empty()) return print("All finished trials have the same hyperparameters.\n");
  const auto range = range_of(hparams);
  print("Importance for " + printable(text_of(field(answer, "searcher_metric"))) + " (" +
        (smaller ? "smaller" : "larger") + " is better), from " + text_of(field(answer, "trials")) +
        " finished trials\n");
  for (const Json &hparam : hparams) {
    const double p_value = double_of(field(hparam, "p_value"));
    char text[64];
    std::snprintf(text, sizeof text, "%.2f, p %.2g: ", double_of(field(hparam, "importance")),
                  p_value);
    print("\n" + printable(text_of(field(hparam, "name"))) + "  " + text + sureness(p_value) +
          (p_value < 0.05 ? direction_of(hparam, smaller) : "") + "\n");
    print_groups(session, hparam, range);
  }
  if (field(answer, "trials").get<size_t>() < few_trials)
    print("\nSo few trials show only strong effects. More trials show more.\n");
}

}  // namespace

void add_hparams_command(CLI::App &app, Session &session) {
  const auto options = std::make_shared<HparamsOptions>();
  CLI::App *command = app.add_subcommand("hparams", "Show which hyperparameters mattered.");
  command->footer(hparams_footer);
  add_id(command, "EXPERIMENT", options->experiment, "The experiment.")->required();
  command->add_flag("--json", options->json, "Print one JSON object.");
  command->callback([options, &session] { run_hparams(session, *options); });
}

}  // namespace det::cli
