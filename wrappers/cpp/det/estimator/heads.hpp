// What stands at the end of a model: its loss, its metrics and its predictions (source:
// tf.estimator.BinaryClassHead, MultiClassHead, RegressionHead).
#pragma once

#include <det/estimator/spec.hpp>

#include <algorithm>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

// What a batch adds to a mean: a sum, and how much its records count together.
struct Share {
  double sum = 0, weight = 0;
};
using ShareOf = std::function<Share(const RunValues &)>;

class MeanMetric : public Metric {
 public:
  using Finish = double (*)(double mean);

  explicit MeanMetric(ShareOf share_of, Finish finish = nullptr)
      : share_of_(std::move(share_of)), finish_(finish) {}

  void update(const RunValues &values) override {
    const Share share = share_of_(values);
    total_.sum += share.sum;
    total_.weight += share.weight;
  }
  [[nodiscard]] nlohmann::ordered_json result(const DistributedView & /*job*/) const override {
    const double mean = total_.weight == 0 ? 0 : total_.sum / total_.weight;
    return finish_ == nullptr ? mean : finish_(mean);
  }

 private:
  ShareOf share_of_;
  Finish finish_;
  Share total_;
};

// Of as many numbers of each record, each with the weight of its record.
[[nodiscard]] inline Share share_of(const nn::Batch &batch, const std::vector<double> &numbers) {
  const bool is_weighted = !batch.sample_weights.empty();
  const std::vector<double> weights =
      is_weighted ? numbers_of<double>("sample weights", batch.sample_weights[0])
                  : std::vector<double>();
  const auto records = static_cast<size_t>(batch.records());
  Share share;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t record = i * records / numbers.size();
    const double weight = is_weighted ? weights.at(record) : 1;
    share.sum += weight * numbers[i];
    share.weight += weight;
  }
  return share;
}

[[nodiscard]] inline Share labels_of(const RunValues &values) {
  const nn::Batch &batch = values.batch();
  return share_of(batch, numbers_of<double>("labels", batch.truths.at(0)));
}
[[nodiscard]] inline Share loss_of(const RunValues &values) {
  const auto records = static_cast<size_t>(values.batch().records());
  const std::vector<double> ones(records, 1);
  return {values.loss() * static_cast<double>(records), share_of(values.batch(), ones).weight};
}

[[nodiscard]] inline std::shared_ptr<Metric> mean_of(ShareOf share_of,
                                                     MeanMetric::Finish finish = nullptr) {
  return std::make_shared<MeanMetric>(std::move(share_of), finish);
}
[[nodiscard]] inline std::shared_ptr<Metric> mean_of_prediction(const std::string &name) {
  return mean_of([name](const RunValues &values) {
    const Tensor tensor = values.prediction(name);
    const auto *first = static_cast<const float *>(tensor.data);
    return share_of(values.batch(), std::vector<double>(first, first + tensor.elements()));
  });
}

inline void check_binary_labels(const nn::Batch &batch) {
  if (batch.truths.size() != 1)
    throw std::invalid_argument("classifying: a batch has one array of labels, not " +
                                std::to_string(batch.truths.size()));
  const std::vector<double> labels = numbers_of<double>("labels", batch.truths[0]);
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != 0 && labels[i] != 1)
      throw std::invalid_argument("classifying: of two classes the labels are 0 and 1, and that " +
                                  std::string("of record ") + std::to_string(i) + " is " +
                                  nn::ConfigValue(labels[i]).text() +
                                  "; n_classes says how many there are");
}

// A metric or a loss of Keras.
[[nodiscard]] inline nlohmann::ordered_json of_keras(const char *class_name,
                                                     nlohmann::ordered_json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

}  // namespace detail

// How many results a head needs of its model: {records, logits}.
[[nodiscard]] inline int64_t logits_of_classes(int64_t n_classes) {
  if (n_classes < 2)
    throw std::invalid_argument("making a classifier: there are 2 classes or more, not " +
                                std::to_string(n_classes));
  return n_classes == 2 ? 1 : n_classes;
}

// Two classes have one logit. Labels are numbers from 0 on.
inline void add_classification(EstimatorSpec &spec, Mode mode, const nn::Value &logits,
                               int64_t n_classes) {
  spec.predictions.insert_or_assign("logits", logits);
  spec.classified = spec.compared = "logits";
  spec.metrics["average_loss"] = detail::mean_of(detail::loss_of);
  if (n_classes > 2) {
    spec.loss = detail::of_keras("SparseCategoricalCrossentropy", {{"from_logits", true}});
    spec.keras_metrics["accuracy"] = "SparseCategoricalAccuracy";
    if (mode == Mode::predict)
      spec.predictions.insert_or_assign("probabilities", nn::activation(nn::softmax)(logits));
    return;
  }
  spec.loss = detail::of_keras("BinaryCrossentropy", {{"from_logits", true}});
  spec.check = detail::check_binary_labels;
  // A logit above 0 says the second class.
  spec.keras_metrics["accuracy"] = detail::of_keras("BinaryAccuracy", {{"threshold", 0}});
  spec.keras_metrics["precision"] = detail::of_keras("Precision", {{"thresholds", 0}});
  spec.keras_metrics["recall"] = detail::of_keras("Recall", {{"thresholds", 0}});
  spec.keras_metrics["auc"] = detail::of_keras("AUC", {{"from_logits", true}});
  spec.keras_metrics["auc_precision_recall"] =
      detail::of_keras("AUC", {{"from_logits", true}, {"curve", "PR"}});
  spec.metrics["label/mean"] = detail::mean_of(detail::labels_of);
  spec.metrics["accuracy_baseline"] =
      detail::mean_of(detail::labels_of, [](double mean) { return std::max(mean, 1 - mean); });
  if (mode == Mode::train) return;
  spec.predictions.insert_or_assign("logistic", nn::activation(nn::sigmoid)(logits));
  spec.metrics["prediction/mean"] = detail::mean_of_prediction("logistic");
}

// Labels have the shape of the predictions.
inline void add_regression(EstimatorSpec &spec, const nn::Value &logits) {
  spec.predictions.insert_or_assign("predictions", logits);
  spec.compared = "predictions";
  spec.loss = "mean_squared_error";
  spec.metrics["average_loss"] = detail::mean_of(detail::loss_of);
  spec.metrics["label/mean"] = detail::mean_of(detail::labels_of);
  spec.metrics["prediction/mean"] = detail::mean_of_prediction("predictions");
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
