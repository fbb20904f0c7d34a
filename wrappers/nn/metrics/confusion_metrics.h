// Metrics of how many are right and wrong, of those that are so and that are not, at thresholds.
#pragma once

#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/metrics/metric.h"

namespace det::nn {

// At each of some thresholds, the sums of the weights of what is predicted to be above it
// (positive) or not, and is so (true) or not.
struct Confusion {
  std::vector<float> thresholds;
  std::vector<double> true_positives, false_positives, true_negatives, false_negatives;

  explicit Confusion(std::vector<float> at);
  void reset();
  void add(float prediction, bool is_so, double weight);
};

// Null for a name, in folded_name()'s form, that none of them has. With several thresholds one of
// them but AUC tells a number at each, "precision_at_0.2".
std::unique_ptr<Metric> make_confusion_metric(const std::string &folded, const std::string &name,
                                              Fields &fields);
// F1Score and FBetaScore; null for other names. Without an average they tell one number for each
// class of the prediction, "f1_score_0".
std::unique_ptr<Metric> make_f_score(const std::string &folded, const std::string &name,
                                     Fields &fields, const ArrayType &prediction);

}  // namespace det::nn
