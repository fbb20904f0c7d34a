// Records that count more than others, by their class.
#pragma once

#include <det/nn/batch.hpp>

#include <cmath>

namespace det {
inline namespace v1 {
namespace keras {

using ClassWeight = std::map<int64_t, double>;

namespace detail {

inline void check_class_weight(const ClassWeight &weights) {
  int64_t next = 0;
  for (const auto &[label, weight] : weights) {
    if (label != next++)
      throw std::invalid_argument(
          "weighting classes: they are numbered from 0 on, and there is no " +
          std::to_string(next - 1));
    if (!std::isfinite(weight))
      throw std::invalid_argument("weighting classes: the weight of " + std::to_string(label) +
                                  " is no number");
  }
}

template <class Number>
[[nodiscard]] int64_t class_of(Number label, size_t record) {
  if constexpr (std::is_floating_point_v<Number>) {
    constexpr auto most = static_cast<Number>(int64_t{1} << 53U);  // more are not all whole
    if (!(std::fabs(label) <= most) || label != std::trunc(label))
      throw std::invalid_argument("weighting classes: the label of record " +
                                  std::to_string(record) + " is " + nn::ConfigValue(label).text() +
                                  ", which is no class");
  }
  return static_cast<int64_t>(label);
}

// Of each record: a number, or the place of the largest of several.
template <class Number>
[[nodiscard]] std::vector<int64_t> classes_of(const nn::Array &labels) {
  const size_t width = labels.elements() / static_cast<size_t>(labels.records());
  std::vector<int64_t> classes;
  if (width == 0) throw std::invalid_argument("weighting classes: a record has no label");
  for (const Number *label = labels.data<Number>(), *end = label + labels.elements(); label != end;
       label += width)
    classes.push_back(width == 1 ? class_of(*label, classes.size())
                                 : std::max_element(label, label + width) - label);
  return classes;
}

[[nodiscard]] inline std::vector<int64_t> classes_of(const nn::Array &labels) {
  switch (labels.dtype()) {
    case Dtype::u8:
      return classes_of<uint8_t>(labels);
    case Dtype::i32:
      return classes_of<int32_t>(labels);
    case Dtype::i64:
      return classes_of<int64_t>(labels);
    case Dtype::f32:
      return classes_of<float>(labels);
    case Dtype::f64:
      return classes_of<double>(labels);
    default:
      throw std::invalid_argument(
          std::string("weighting classes: labels are U8, I32, I64, F32 or ") + "F64, not " +
          dtype_name(labels.dtype()));
  }
}

}  // namespace detail

// The batch with the weight of each record's class as its weight, times the one that it has.
[[nodiscard]] inline nn::Batch weighted(nn::Batch batch, const ClassWeight &weights) {
  if (batch.truths.size() != 1)
    throw std::invalid_argument("weighting classes: there is one result, not " +
                                std::to_string(batch.truths.size()));
  if (batch.records() == 0) return batch;
  for (const auto *arrays : {&batch.truths, &batch.sample_weights})
    if (!arrays->empty() && (*arrays)[0].records() != batch.records())
      throw std::invalid_argument("weighting classes: there are " +
                                  std::to_string((*arrays)[0].records()) +
                                  (arrays == &batch.truths ? " labels" : " sample weights") +
                                  " for " + std::to_string(batch.records()) + " records");
  std::vector<float> of_records;
  for (const int64_t label : detail::classes_of(batch.truths[0])) {
    const auto found = weights.find(label);
    if (found == weights.end())
      throw std::invalid_argument("weighting classes: there is a label " + std::to_string(label) +
                                  ", and no weight for it");
    of_records.push_back(static_cast<float>(found->second));
  }
  if (!batch.sample_weights.empty()) {
    if (batch.sample_weights[0].elements() != of_records.size())
      throw std::invalid_argument("weighting classes: there is one sample weight for each record");
    const float *given = batch.sample_weights[0].data();
    for (size_t i = 0; i < of_records.size(); ++i) of_records[i] *= given[i];
  }
  batch.sample_weights = {nn::Array(std::move(of_records))};
  return batch;
}

}  // namespace keras
}  // namespace v1
}  // namespace det
