#include "wrappers/cli/plot/curve_reader.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/config/experiment/suggestion.h"
#include "wrappers/cli/commands/metric_names.h"
#include "wrappers/cli/exit_code.h"
#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Called by the parser of the library for what it finds.
class ReportHandler {
 public:
  using Take = std::function<void(const Report &report)>;
  explicit ReportHandler(const Take &take) : take_(take) {}

  std::optional<int64_t> next() const { return next_; }

  bool key(std::string &name) {
    key_.swap(name);
    return true;
  }
  bool start_object(size_t) {
    const Place place = innermost();
    Open opened{Place::other, prefix_.size()};
    if (place == Place::nowhere) opened.place = Place::answer;
    if (place == Place::reports) {
      opened.place = Place::report;
      report_ = {{}, missing, {}, {}};
    }
    if (place == Place::report && key_ == "metrics") opened.place = Place::values;
    if (place == Place::values) {
      opened.place = Place::values;
      prefix_ += key_ + ".";
    }
    open_.push_back(opened);
    return true;
  }
  bool end_object() {
    if (innermost() == Place::report) take_(report_);
    prefix_.resize(open_.back().prefix_size);
    open_.pop_back();
    return true;
  }
  bool start_array(size_t) {
    const bool reports = innermost() == Place::answer && key_ == "metrics";
    open_.push_back({reports ? Place::reports : Place::other, prefix_.size()});
    return true;
  }
  bool end_array() {
    open_.pop_back();
    return true;
  }

  bool number_integer(Json::number_integer_t value) {
    if (innermost() == Place::answer && key_ == "next") next_ = value;
    return number(static_cast<double>(value));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (innermost() == Place::answer && key_ == "next") next_ = static_cast<int64_t>(value);
    return number(static_cast<double>(value));
  }
  bool number_float(double value, const std::string &) { return number(value); }
  bool string(std::string &text) {
    const Place place = innermost();
    if (place == Place::report && key_ == "group") report_.group.swap(text);
    else if (place == Place::report && key_ == "time") report_.time.swap(text);
    else if (text == "NaN") return value(missing);
    else if (text == "Infinity") return value(infinity);
    else if (text == "-Infinity") return value(-infinity);
    return true;
  }
  bool null() { return value(missing); }
  bool boolean(bool) { return true; }
  bool binary(Json::binary_t &) { return true; }
  bool parse_error(size_t, const std::string &, const Json::exception &error) {
    throw Failure(ExitCode::internal, std::string("reading metrics: ") + error.what());
  }

 private:
  enum class Place { nowhere, answer, reports, report, values, other };
  struct Open {
    Place place;
    size_t prefix_size;  // before it was opened
  };

  Place innermost() const { return open_.empty() ? Place::nowhere : open_.back().place; }

  bool number(double number) {
    if (innermost() == Place::report && key_ == "steps_completed") report_.steps = number;
    return value(number);
  }
  bool value(double number) {
    if (innermost() == Place::values) report_.values.emplace_back(prefix_ + key_, number);
    return true;
  }

  const Take &take_;
  std::vector<Open> open_;
  std::string key_, prefix_;  // of values in values: "agent."
  Report report_;
  std::optional<int64_t> next_;
};

constexpr double not_told = std::numeric_limits<double>::quiet_NaN();

bool ends_with_part(const std::string &name, const std::string &part) {
  return name.size() > part.size() && name.ends_with(part) &&
         name[name.size() - part.size() - 1] == '.';
}

bool is_named(const Curve &curve, const std::string &argument) {
  return argument == curve.metric || argument == curve.group + "." + curve.metric;
}

// By the end of a nested name, by the group, or by both.
bool is_meant(const Curve &curve, const std::string &argument) {
  if (argument == curve.group || ends_with_part(curve.metric, argument)) return true;
  return argument.starts_with(curve.group + ".") &&
         ends_with_part(curve.metric, argument.substr(curve.group.size() + 1));
}

std::vector<Curve> choose_losses(std::vector<Curve> curves) {
  const auto is_loss = [](const Curve &curve) {
    return curve.metric.find("loss") != std::string::npos;
  };
  const bool any = std::any_of(curves.begin(), curves.end(), is_loss);
  const std::string first = curves.empty() ? "" : curves.front().metric;
  std::erase_if(curves,
                [&](const Curve &curve) { return any ? !is_loss(curve) : curve.metric != first; });
  return curves;
}

[[noreturn]] void fail_without(int64_t trial, const std::string &argument,
                               const std::vector<Curve> &curves, const MetricNames &known) {
  std::vector<std::string> names;
  for (const Curve &curve : curves) {
    names.push_back(curve.metric);
    names.push_back(curve.group + "." + curve.metric);
    names.push_back(curve.metric.substr(curve.metric.find_last_of('.') + 1));
  }
  const std::string nearest = config::suggestion(argument, names);
  if (nearest.empty()) known.require(trial, std::nullopt, {argument});
  throw Failure(ExitCode::not_found, "trial " + std::to_string(trial) + " has no metric '" +
                                         argument + "'; did you mean '" + nearest + "'? it has " +
                                         known.listed(few_names));
}

// How many steps an epoch has, by the configuration; NaN where that does not tell.
double epoch_length(Client &client, const Json &trial) {
  const Json batch = field(field(trial, "hparams"), "global_batch_size");
  if (!batch.is_number() || !(batch.get<double>() > 0)) return missing;
  const Json experiment = client.experiment(field(trial, "experiment_id").get<int64_t>());
  const double records = double_of(field(field(experiment, "config"), "records_per_epoch"));
  return records > 0 ? records / batch.get<double>() : missing;
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

std::vector<Curve> choose_curves(int64_t trial, std::vector<Curve> curves,
                                 const std::vector<std::string> &arguments,
                                 const MetricNames &known) {
  if (arguments.empty()) return choose_losses(std::move(curves));
  std::vector<size_t> places;  // in the order of the arguments
  for (const std::string &argument : arguments) {
    std::vector<size_t> found;
    for (bool (*const fits)(const Curve &, const std::string &) : {is_named, is_meant}) {
      if (!found.empty()) break;
      for (size_t i = 0; i < curves.size(); ++i)
        if (fits(curves[i], argument)) found.push_back(i);
    }
    if (found.empty()) fail_without(trial, argument, curves, known);
    for (const size_t i : found)
      if (std::find(places.begin(), places.end(), i) == places.end()) places.push_back(i);
  }
  std::vector<Curve> chosen;
  for (const size_t i : places) chosen.push_back(std::move(curves[i]));
  return chosen;
}

// The group that all of them are in, if it is one. The other groups need not be read.
std::optional<std::string> only_group(const MetricNames &known,
                                      const std::vector<std::string> &arguments) {
  for (const auto &listed : known.groups) {
    const std::string &group = listed.first;
    const std::string start = group + ".";
    if (!arguments.empty() &&
        std::all_of(arguments.begin(), arguments.end(), [&](const std::string &argument) {
          return (argument == group || argument.starts_with(start)) &&
                 !known.has(std::nullopt, {argument});
        }))
      return group;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> parse_reports(std::string_view answer,
                                     const std::function<void(const Report &report)> &take) {
  ReportHandler handler(take);
  Json::sax_parse(answer.begin(), answer.end(), &handler);
  return handler.next();
}

void CurveBuilder::add(const Report &report) {
  Sample sample{report.steps, not_told, not_told, not_told};
  sample.time = seconds_of(report.time).value_or(not_told);
  for (const auto &[name, value] : report.values)
    if (name == "epoch" || name == "epochs") sample.epoch = value;
  if (std::isfinite(sample.epoch) && !std::isnan(sample.steps))
    epochs_[sample.steps] = sample.epoch;
  for (const auto &[name, value] : report.values) {
    sample.value = value;
    curve_of(report.group, name).samples.push_back(sample);
  }
}

std::vector<Curve> CurveBuilder::take() {
  for (Curve &curve : curves_)
    for (Sample &sample : curve.samples)
      if (!std::isfinite(sample.epoch)) sample.epoch = epoch_at(sample.steps);
  return std::move(curves_);
}

Curve &CurveBuilder::curve_of(const std::string &group, const std::string &metric) {
  const auto [place, is_new] = places_[group].try_emplace(metric, curves_.size());
  if (is_new) curves_.push_back({trial_, group, metric, {}});
  return curves_[place->second];
}

double CurveBuilder::epoch_at(double steps) const {
  const auto behind = std::isnan(steps) ? epochs_.begin() : epochs_.upper_bound(steps);
  return behind == epochs_.begin() ? steps / epoch_length_ : std::prev(behind)->second;
}

void start_together(std::vector<Curve> &curves) {
  double start = not_told;
  for (const Curve &curve : curves)
    for (const Sample &sample : curve.samples) start = std::fmin(start, sample.time);
  for (Curve &curve : curves) curve.start = start;
}

std::vector<Curve> read_curves(Client &client, int64_t trial_id,
                               const std::vector<std::string> &metrics, bool with_epochs) {
  MetricNames known = metric_names(client.metric_names(trial_id));
  const std::vector<std::string> unlisted = add_unlisted(client, trial_id, metrics, known);
  CurveBuilder builder(trial_id,
                       with_epochs ? epoch_length(client, client.trial(trial_id)) : missing);
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
