// The area under the curve of rates (ROC), or of precision over recall (PR).
#pragma once

#include <vector>

#include "wrappers/nn/metrics/confusion_metrics.h"

namespace det::nn {

class AreaUnderCurve {
 public:
  // The options of Keras' AUC. Throws Code::invalid, Code::unsupported.
  explicit AreaUnderCurve(Fields &fields);

  // Evenly from 0 to 1; the ends lie a little beyond them.
  std::vector<float> thresholds() const;
  double of(const Confusion &counted) const;

 private:
  enum class Between { interpolation, minoring, majoring };
  double under_precision(const Confusion &counted) const;

  int64_t count_;
  bool is_precision_;
  Between between_ = Between::interpolation;
};

}  // namespace det::nn
