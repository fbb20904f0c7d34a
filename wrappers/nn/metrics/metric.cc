#include "wrappers/nn/metrics/metric.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/layer.h"
#include "wrappers/nn/losses/named_losses.h"
#include "wrappers/nn/metrics/metric_makers.h"

namespace det::nn {

namespace {

// What "accuracy" and "crossentropy" stand for.
std::string prefix_for(const ArrayType &truth, const ArrayType &prediction) {
  if (truth.dtype == Dtype::i32) return "sparse_categorical_";
  return prediction.shape.back() == 1 ? "binary_" : "categorical_";
}

std::string resolved(const std::string &name, const ArrayType &truth, const ArrayType &prediction) {
  const std::string folded = folded_name(name);
  if (folded == "accuracy" || folded == "acc") return prefix_for(truth, prediction) + "accuracy";
  if (folded == "crossentropy" || folded == "ce")
    return prefix_for(truth, prediction) + "crossentropy";
  return name;
}

// As Keras names what has no name of its own: functions as they were given, "mse" and "MSE", and
// classes by theirs, "auc" of AUC and "true_positives" of TruePositives.
std::string usual_name(const Json &config, const std::string &name) {
  static const std::map<std::string, std::string> others{
      {"F1Score", "f1_score"},
      {"FBetaScore", "fbeta_score"},
      {"KLDivergence", "kullback_leibler_divergence"},
      {"LogCoshError", "logcosh"}};
  if (const auto other = others.find(name); other != others.end()) return other->second;
  const auto has = [&](auto is_kind) {
    return std::any_of(name.begin(), name.end(),
                       [&](unsigned char letter) { return is_kind(letter) != 0; });
  };
  const std::string folded = folded_name(name);
  const bool is_convention = config.is_string() && (folded == "accuracy" || folded == "acc" ||
                                                    folded == "crossentropy" || folded == "ce");
  const bool is_class = name == "AUC" || (has([](int l) { return std::isupper(l); }) &&
                                          has([](int l) { return std::islower(l); }));
  return is_class && !is_convention ? snake_case(name) : name;
}

std::vector<std::string> names_of_metrics() {
  std::vector<std::string> names = names_of_losses();
  for (const char *name : {"accuracy",
                           "binary_accuracy",
                           "categorical_accuracy",
                           "sparse_categorical_accuracy",
                           "top_k_categorical_accuracy",
                           "sparse_top_k_categorical_accuracy",
                           "root_mean_squared_error",
                           "auc",
                           "precision",
                           "recall",
                           "true_positives",
                           "true_negatives",
                           "false_positives",
                           "false_negatives",
                           "mean_io_u",
                           "io_u",
                           "binary_io_u",
                           "one_hot_io_u",
                           "one_hot_mean_io_u",
                           "f1_score",
                           "fbeta_score"})
    names.emplace_back(name);
  return names;
}

// Labels have metrics of their own; all others compare element with element, but those that take
// either.
void expect_comparable(const std::string &name, const Metric &metric, const ArrayType &truth,
                       const ArrayType &prediction) {
  const bool has_labels = truth.dtype == Dtype::i32;
  const bool wants_labels = folded_name(name).starts_with("sparse");
  if (prediction.shape.empty() || (has_labels != wants_labels && !metric.takes_any_truth()))
    throw Error(Code::invalid,
                "compiling a model: the metric '" + name + "' takes " +
                    (wants_labels ? "numbers of classes" : "an array of the prediction's shape") +
                    ", and the loss " + (has_labels ? "numbers of classes" : "such an array"));
}

}  // namespace

std::unique_ptr<Metric> make_metric(const Json &config, const ArrayType &truth,
                                    const ArrayType &prediction) {
  const NamedConfig given = named_config(config, "a metric");
  const std::string name =
      config.is_string() ? resolved(given.name, truth, prediction) : given.name;
  Fields fields(given.config, "the metric " + given.name);
  // Keras writes null for the name of a class.
  std::string shown = usual_name(config, given.name);
  if (fields.has("name")) shown = fields.text("name");
  else fields.any("name");
  for (const char *key : {"dtype", "fn", "reduction"}) fields.without_effect(key);
  const std::string folded = folded_name(name);
  auto metric = make_accuracy(folded, shown, fields);
  if (!metric) metric = make_mean_of_losses(name, shown, fields);
  if (!metric) metric = make_confusion_metric(folded, shown, fields);
  if (!metric) metric = make_f_score(folded, shown, fields, prediction);
  if (!metric) metric = make_intersection_metric(folded, shown, fields);
  if (!metric) refuse_name(given.name, "metric", names_of_metrics());
  fields.finish();
  expect_comparable(name, *metric, truth, prediction);
  metric->check(truth, prediction);
  return metric;
}

}  // namespace det::nn
