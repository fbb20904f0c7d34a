#include "wrappers/nn/class_weights.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "wrappers/nn/array_copy.h"

namespace det::nn {

namespace {

[[noreturn]] void refuse_classes(const std::string &problem) {
  throw Error(Code::invalid, "weighting classes: " + problem);
}

class ClassesOf {
 public:
  ClassesOf(const Array &truth, size_t rows, size_t width)
      : truth_(truth), width_(width), rows_(rows) {}

  int64_t of(size_t row) const {
    const size_t first = row * width_;
    if (truth_.dtype() == Dtype::i32) return truth_.data<int32_t>()[first];
    const float *const values = truth_.data() + first;
    for (size_t i = 0; i < width_; ++i)
      if (std::isnan(values[i])) refuse(row, first + i);
    if (width_ > 1) return std::max_element(values, values + width_) - values;
    constexpr auto most = static_cast<float>(1U << 24U);  // more are not all whole
    if (!(std::fabs(*values) <= most) || *values != std::trunc(*values)) refuse(row, first);
    return static_cast<int64_t>(*values);
  }

 private:
  [[noreturn]] void refuse(size_t row, size_t element) const {
    const size_t of_record = rows_ / static_cast<size_t>(truth_.shape()[0]);
    refuse_classes("the label of record " + std::to_string(row / of_record) + " is " +
                   element_text(truth_, element) + ", which is no class");
  }

  const Array &truth_;
  const size_t width_, rows_;
};

}  // namespace

void weigh_classes(const Array &truth, const Loss &loss, std::span<const double> weights,
                   const Array &rows) {
  for (size_t label = 0; label < weights.size(); ++label)
    if (!std::isfinite(weights[label]))
      refuse_classes("the weight of " + std::to_string(label) + " is no number");
  const auto of_rows = rows.elements();
  const bool has_numbers = truth.dtype() == Dtype::i32;
  const auto width = has_numbers ? 1 : static_cast<size_t>(truth.shape().back());
  if (width == 0 || of_rows.size() * width != truth.size())
    refuse_classes("labels of " + text_of(truth.shape()) + " have no weights of " +
                   text_of(rows.shape()));
  const ClassesOf classes(truth, of_rows.size(), width);
  for (size_t row = 0; row < of_rows.size(); ++row) {
    const int64_t label = classes.of(row);
    if (has_numbers && !loss.counts(static_cast<int32_t>(label))) continue;
    const auto place = static_cast<uint64_t>(label);  // far behind all where the label is below 0
    if (place >= weights.size())
      refuse_classes("there is a label " + std::to_string(label) + ", and no weight for it");
    of_rows[row] *= static_cast<float>(weights[place]);
  }
}

}  // namespace det::nn
