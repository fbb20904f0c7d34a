// The area under the curve of rates (ROC), or of precision over recall (PR).
#pragma once

#include <optional>
#include <vector>

#include "wrappers/nn/metrics/confusion_metrics.h"

namespace det::nn {

class AreaUnderCurve {
 public:
  // The options of Keras' AUC. Throws Code::invalid, Code::unsupported.
  explicit AreaUnderCurve(Fields &fields);

  // Those that were given, or evenly from 0 to 1; the ends lie a little beyond them.
  std::vector<float> thresholds() const;
  // How many are counted apart, whose areas are averaged; none where all are counted together.
  std::optional<int64_t> labels() const { return labels_; }
  // How much each label counts; empty where all count alike.
  const std::vector<float> &label_weights() const { return label_weights_; }
  double of(const std::vector<Confusion> &counted) const;

 private:
  double of_one(const Confusion &counted) const;
  enum class Between { interpolation, minoring, majoring };
  double under_precision(const Confusion &counted) const;

  int64_t count_;
  bool is_precision_;
  Between between_ = Between::interpolation;
  std::optional<int64_t> labels_;
  std::vector<float> given_, label_weights_;
};

}  // namespace det::nn
