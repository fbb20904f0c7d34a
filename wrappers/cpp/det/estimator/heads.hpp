// Heads of models: the loss, the metrics and the predictions. Follows tf.estimator.BinaryClassHead,
// MultiClassHead and RegressionHead.
#pragma once

#include <det/estimator/binary_metrics.hpp>
#include <det/estimator/labels.hpp>

#include <algorithm>

namespace det {
inline namespace v1 {
namespace estimator {

// Reduces the losses of the records to the loss of a batch.
enum class LossReduction { mean, sum };

struct HeadOptions {
  int64_t n_classes = 2;        // for a classifier
  int64_t label_dimension = 1;  // for a regressor
  // For a classifier whose labels are texts: one text for each class.
  std::vector<std::string> label_vocabulary = {};
  // A feature with the weight of each record. Empty: all weights are 1.
  std::string weight_column = {};
  LossReduction loss_reduction = LossReduction::mean;
};

namespace detail {

// A metric or a loss of Keras.
[[nodiscard]] inline nlohmann::ordered_json of_keras(const char *class_name,
                                                     nlohmann::ordered_json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

inline void set_loss(EstimatorSpec &spec, const HeadOptions &options, const char *class_name,
                     nlohmann::ordered_json config) {
  const bool is_sum = options.loss_reduction == LossReduction::sum;
  if (is_sum) config["reduction"] = "sum";
  spec.loss = of_keras(class_name, std::move(config));
  spec.weight_column = options.weight_column;
  spec.metrics["average_loss"] =
      mean_of([is_sum](const RunValues &values) { return loss_of(values, is_sum); });
}

}  // namespace detail

// The count of results that a classifier needs of its model: {records, logits}. Throws
// std::invalid_argument for invalid options of a classifier.
[[nodiscard]] inline int64_t logits_of_classes(const HeadOptions &options) {
  if (options.n_classes < 2)
    throw std::invalid_argument("making a classifier: there are 2 classes or more, not " +
                                std::to_string(options.n_classes));
  detail::check_vocabulary(options.label_vocabulary, options.n_classes);
  return options.n_classes == 2 ? 1 : options.n_classes;
}

// Two classes have one logit. Labels are numbers from 0, or texts of a vocabulary.
inline void add_classification(EstimatorSpec &spec, Mode mode, const nn::Value &logits,
                               const HeadOptions &options) {
  spec.predictions.insert_or_assign("logits", logits);
  spec.classified = spec.compared = "logits";
  spec.classes = options.label_vocabulary;
  if (!spec.classes.empty())
    spec.read_labels = [vocabulary = spec.classes](const nn::Array &labels) {
      return detail::places_of(labels, vocabulary);
    };
  spec.check = [n_classes = options.n_classes](const nn::Batch &batch) {
    detail::check_labels(batch.truths[0], n_classes);
  };
  const nlohmann::ordered_json from_logits = {{"from_logits", true}};
  if (options.n_classes > 2) {
    detail::set_loss(spec, options, "SparseCategoricalCrossentropy", from_logits);
    spec.metrics["accuracy"] = detail::mean_of(detail::right_of);
    if (mode == Mode::predict)
      spec.predictions.insert_or_assign("probabilities", nn::activation(nn::softmax)(logits));
    return;
  }
  detail::set_loss(spec, options, "BinaryCrossentropy", from_logits);
  const auto all = [](bool, bool) { return true; };
  const auto second = [](bool is_second, bool) { return is_second; };
  const auto taken = [](bool, bool is_taken) { return is_taken; };
  const auto same = [](bool is_second, bool is_taken) { return is_second == is_taken; };
  spec.metrics["accuracy"] = detail::part_of_records("logits", all, same);
  spec.metrics["precision"] = detail::part_of_records("logits", taken, second);
  spec.metrics["recall"] = detail::part_of_records("logits", second, taken);
  spec.metrics["label/mean"] = detail::mean_of(detail::labels_of);
  spec.metrics["accuracy_baseline"] =
      detail::mean_of(detail::labels_of, [](double mean) { return std::max(mean, 1 - mean); });
  if (mode == Mode::train) return;
  spec.predictions.insert_or_assign("logistic", nn::activation(nn::sigmoid)(logits));
  spec.metrics["prediction/mean"] = detail::mean_of_prediction("logistic");
  spec.metrics["auc"] =
      std::make_shared<detail::AreaMetric>("logistic", &detail::BinaryCounts::area_under_roc);
  spec.metrics["auc_precision_recall"] = std::make_shared<detail::AreaMetric>(
      "logistic", &detail::BinaryCounts::area_under_precision_recall);
}

// Labels have the shape of the predictions.
inline void add_regression(EstimatorSpec &spec, const nn::Value &logits,
                           const HeadOptions &options = {}) {
  spec.predictions.insert_or_assign("predictions", logits);
  spec.compared = "predictions";
  detail::set_loss(spec, options, "MeanSquaredError", nlohmann::ordered_json::object());
  spec.metrics["label/mean"] = detail::mean_of(detail::labels_of);
  spec.metrics["prediction/mean"] = detail::mean_of_prediction("predictions");
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
