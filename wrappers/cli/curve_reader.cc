#include "curve_reader.h"

#include <limits>
#include <optional>

#include "curve_builder.h"
#include "curve_choice.h"
#include "field_text.h"
#include "metric_names.h"

namespace det::cli {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// How many steps an epoch has, by the configuration; NaN where that does not tell.
double epoch_length(Client &client, const Json &trial) {
  const Json batch = field(field(trial, "hparams"), "global_batch_size");
  if (!batch.is_number() || !(batch.get<double>() > 0)) return unknown;
  const Json experiment = client.experiment(field(trial, "experiment_id").get<int64_t>());
  const double records = double_of(field(field(experiment, "config"), "records_per_epoch"));
  return records > 0 ? records / batch.get<double>() : unknown;
}

// Adds groups that are asked for and that the master has without listing them, such as those of the
// profiler. Gives their names.
std::vector<std::string> add_unlisted(Client &client, int64_t trial_id,
                                      const std::vector<std::string> &metrics, MetricNames &known) {
  std::vector<std::string> added;
  for (const std::string &metric : metrics) {
    const std::string group = metric.substr(0, metric.find('.'));
    if (known.has(group, {}) || known.has(std::nullopt, {metric})) continue;
    add_from_reports(client, trial_id, group, known);
    if (known.has(group, {})) added.push_back(group);
  }
  return added;
}

}  // namespace

std::vector<Curve> read_curves(Client &client, int64_t trial_id,
                               const std::vector<std::string> &metrics, bool with_epochs) {
  MetricNames known = metric_names(client.metric_names(trial_id));
  const std::vector<std::string> unlisted = add_unlisted(client, trial_id, metrics, known);
  CurveBuilder builder(trial_id,
                       with_epochs ? epoch_length(client, client.trial(trial_id)) : unknown);
  const auto read = [&](const std::optional<std::string> &group) {
    client.each_report_page(trial_id, group, [&](const std::string &answer) {
      return parse_reports(answer, [&](const Report &report) { builder.add(report); });
    });
  };
  // Reports of another group may say which epoch it was.
  const auto group = with_epochs ? std::nullopt : only_group(known, metrics);
  read(group);
  if (!group)
    for (const std::string &name : unlisted) read(name);
  std::vector<Curve> curves = choose_curves(trial_id, builder.take(), metrics, known);
  start_together(curves);
  return curves;
}

}  // namespace det::cli
