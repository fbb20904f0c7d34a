// Changes numbers of known mean and variance to mean 0 and variance 1.
#pragma once

#include <det/nn/array.hpp>
#include <det/nn/layer.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace det {
inline namespace v1 {
namespace nn {

// The mean and the variance are weights, as in a layer that Keras adapted.
[[nodiscard]] inline Layer normalization() { return Layer("Normalization"); }

// A mean and a variance for each place of the last axis.
[[nodiscard]] inline Layer normalization(const std::vector<double> &mean,
                                         const std::vector<double> &variance) {
  const auto list = [](const std::vector<double> &numbers) {
    std::string text = "[";
    for (const double number : numbers)
      text += (text.size() > 1 ? ", " : "") + ConfigValue(number).text();
    return ConfigValue::json(text + "]");
  };
  return normalization().set("mean", list(mean)).set("variance", list(variance));
}

// Uses the mean and variance of `records`, as Keras' adapt() does: for each place of the last axis,
// over all other axes. Throws std::invalid_argument without records, and for numbers that are not
// float or double.
[[nodiscard]] inline Layer adapted_normalization(const Array &records) {
  const auto refuse = [](const std::string &why) {
    throw std::invalid_argument("adapting a normalization: " + why);
  };
  if (records.dtype() != Dtype::f32 && records.dtype() != Dtype::f64)
    refuse(std::string("its records are of ") + dtype_name(records.dtype()) +
           "; float and double are taken");
  if (records.shape().size() < 2 || records.elements() == 0)
    refuse("its records need an axis of features beside their own, and one record at least");
  const auto features = static_cast<size_t>(records.shape().back());
  const auto rows = static_cast<double>(records.elements() / features);
  const auto number = [&](size_t i) {
    return records.dtype() == Dtype::f32 ? static_cast<double>(records.data<float>()[i])
                                         : records.data<double>()[i];
  };
  std::vector<double> mean(features), variance(features);
  for (size_t i = 0; i < records.elements(); ++i) mean[i % features] += number(i) / rows;
  for (size_t i = 0; i < records.elements(); ++i) {
    const double off = number(i) - mean[i % features];
    variance[i % features] += off * off / rows;
  }
  return normalization(mean, variance);
}

}  // namespace nn
}  // namespace v1
}  // namespace det
