#include "core/tensorboard/hparams.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/search/hyperparameters.h"
#include "core/tensorboard/event.h"
#include "core/tensorboard/protobuf.h"
#include "core/tensorboard/value.h"

namespace det::tensorboard {

namespace {

// The numbers of fields. Names with a _value are those of google.protobuf.Value.
namespace field {
enum Value : unsigned { null_value = 1, number_value = 2, text_value = 3, bool_value = 4 };
enum List : unsigned { list_value = 1 };
enum Entry : unsigned { entry_key = 1, entry_value = 2 };
enum Data : unsigned { data_experiment = 2, data_session_start = 3, data_session_end = 4 };
enum Start : unsigned { start_hparams = 1, start_time = 5 };
enum End : unsigned { end_status = 1, end_time = 2 };
enum Experiment : unsigned { experiment_hparams = 4, experiment_metrics = 5, experiment_name = 6 };
enum Hparam : unsigned { hparam_name = 1, hparam_type = 4, hparam_list = 5, hparam_interval = 6 };
enum Interval : unsigned { interval_min = 1, interval_max = 2 };
enum Metric : unsigned { metric_name = 1, metric_set = 5 };
enum MetricName : unsigned { name_tag = 2 };
}  // namespace field

enum Status : uint64_t { status_success = 1, status_failure = 2 };
enum Type : uint64_t { type_text = 1, type_bool = 2, type_number = 3 };
enum Set : uint64_t { set_training = 1, set_validation = 2 };

std::string value_of(const Json &value) {
  std::string message;
  if (value.is_null()) protobuf::append_whole(message, field::null_value, 0);
  else if (value.is_boolean())
    protobuf::append_whole(message, field::bool_value, value.get<bool>() ? 1 : 0);
  else if (value.is_number())
    protobuf::append_double(message, field::number_value, value.get<double>());
  else
    protobuf::append_bytes(message, field::text_value,
                           value.is_string() ? value.get<std::string>() : to_wire(value));
  return message;
}

Type type_of(const Json &value) {
  return value.is_boolean() ? type_bool : value.is_number() ? type_number : type_text;
}

// By their names, those of a group behind the group's and a dot.
void append_values(std::string &start, const std::string &before, const Json &hparams) {
  for (const auto &[name, value] : hparams.items()) {
    const std::string whole = before + name;
    if (value.is_object()) {
      append_values(start, whole + ".", value);
      continue;
    }
    std::string entry;
    protobuf::append_bytes(entry, field::entry_key, whole);
    protobuf::append_bytes(entry, field::entry_value, value_of(value));
    protobuf::append_bytes(start, field::start_hparams, entry);
  }
}

// Appends what a hyperparameter may be.
struct AppendDomain {
  std::string &info;

  void operator()(const search::ConstantValue &constant) const { list({constant.value}); }
  void operator()(const search::Categories &categories) const { list(categories.values); }
  void operator()(const search::IntegerRange &range) const {
    interval(static_cast<double>(range.minimum), static_cast<double>(range.maximum));
  }
  void operator()(const search::DoubleRange &range) const {
    interval(range.minimum, range.maximum);
  }
  void operator()(const search::LogRange &range) const {
    interval(std::pow(range.base, range.exponent.minimum),
             std::pow(range.base, range.exponent.maximum));
  }
  void operator()(const search::HyperparameterGroup &) const {}

  void list(const std::vector<Json> &values) const {
    const auto differs = [&](const Json &value) { return type_of(value) != type_of(values[0]); };
    const bool is_mixed = std::any_of(values.begin(), values.end(), differs);
    const Type type = values.empty() || is_mixed ? type_text : type_of(values[0]);
    protobuf::append_whole(info, field::hparam_type, type);
    std::string list;
    for (const Json &value : values)
      protobuf::append_bytes(list, field::list_value, value_of(value));
    protobuf::append_bytes(info, field::hparam_list, list);
  }

  void interval(double min, double max) const {
    protobuf::append_whole(info, field::hparam_type, type_number);
    std::string interval;
    protobuf::append_double(interval, field::interval_min, min);
    protobuf::append_double(interval, field::interval_max, max);
    protobuf::append_bytes(info, field::hparam_interval, interval);
  }
};

void append_space(std::string &experiment, const std::string &before,
                  const search::HyperparameterGroup &space) {
  for (const search::Hyperparameter &hyperparameter : space.children) {
    const std::string whole = before + hyperparameter.name;
    const auto *group = std::get_if<search::HyperparameterGroup>(&hyperparameter.value);
    if (group != nullptr) {
      append_space(experiment, whole + ".", *group);
      continue;
    }
    std::string info;
    protobuf::append_bytes(info, field::hparam_name, whole);
    std::visit(AppendDomain{info}, hyperparameter.value);
    protobuf::append_bytes(experiment, field::experiment_hparams, info);
  }
}

std::string event_of(double wall_time, const char *tag, unsigned kind, std::string_view message) {
  std::string data, event;
  protobuf::append_bytes(data, kind, message);
  append_value_event(event, wall_time, 0, tag, plugin_value("hparams", data));
  return event;
}

}  // namespace

std::string session_start_event(double wall_time, const Json &hparams) {
  std::string start;
  append_values(start, "", hparams);
  if (start.empty()) return {};
  protobuf::append_double(start, field::start_time, wall_time);
  return event_of(wall_time, "_hparams_/session_start_info", field::data_session_start, start);
}

std::string session_end_event(double wall_time, bool succeeded) {
  std::string end;
  protobuf::append_whole(end, field::end_status, succeeded ? status_success : status_failure);
  protobuf::append_double(end, field::end_time, wall_time);
  return event_of(wall_time, "_hparams_/session_end_info", field::data_session_end, end);
}

std::string search_event(double wall_time, const Json &config,
                         const std::vector<MetricColumn> &metrics) {
  std::string experiment;
  try {
    append_space(experiment, "", search::read_hyperparameters(config.at("hyperparameters")));
  } catch (const std::exception &) {
    return {};  // none, or none that are understood
  }
  if (experiment.empty()) return {};
  for (const MetricColumn &column : metrics) {
    std::string name, metric;
    protobuf::append_bytes(name, field::name_tag, column.tag);
    protobuf::append_bytes(metric, field::metric_name, name);
    protobuf::append_whole(metric, field::metric_set,
                           column.of_validation ? set_validation : set_training);
    protobuf::append_bytes(experiment, field::experiment_metrics, metric);
  }
  if (config.contains("name") && config["name"].is_string())
    protobuf::append_bytes(experiment, field::experiment_name, config["name"].get<std::string>());
  return event_of(wall_time, "_hparams_/experiment", field::data_experiment, experiment);
}

}  // namespace det::tensorboard
