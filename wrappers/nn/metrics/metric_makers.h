// Metrics by their kind. Each function gives null for a name, in folded_name()'s form, that none of
// its kind has.
#pragma once

#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/metrics/metric.h"

namespace det::nn {

std::unique_ptr<Metric> make_accuracy(const std::string &folded, const std::string &name,
                                      Fields &fields);
std::unique_ptr<Metric> make_mean_of_losses(const std::string &given, const std::string &name,
                                            Fields &fields);
// With several thresholds one of
// them but AUC tells a number at each, "precision_at_0.2".
std::unique_ptr<Metric> make_confusion_metric(const std::string &folded, const std::string &name,
                                              Fields &fields);
// F1Score and FBetaScore. Without an average they tell one number for each
// class of the prediction, "f1_score_0".
std::unique_ptr<Metric> make_f_score(const std::string &folded, const std::string &name,
                                     Fields &fields, const ArrayType &prediction);
// MeanIoU, IoU, BinaryIoU, OneHotIoU, OneHotMeanIoU.
std::unique_ptr<Metric> make_intersection_metric(const std::string &folded, const std::string &name,
                                                 Fields &fields);

}  // namespace det::nn
