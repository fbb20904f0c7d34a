// How far what is predicted to be of a class and what is of it are the same: intersection over
// union.
#pragma once

#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/metrics/metric.h"

namespace det::nn {

// Null for a name, in folded_name()'s form, that none of them has: MeanIoU, IoU, BinaryIoU,
// OneHotIoU, OneHotMeanIoU.
std::unique_ptr<Metric> make_intersection_metric(const std::string &folded, const std::string &name,
                                                 Fields &fields);

}  // namespace det::nn
