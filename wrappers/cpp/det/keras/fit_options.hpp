// Settings of training and of reading data. Follows configure_fit().
#pragma once

#include <det/nn/config.hpp>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace det {
inline namespace v1 {
namespace keras {

// The weight of the records of each class.
using ClassWeight = std::map<int64_t, double>;

namespace detail {

// A number for each class. Throws std::invalid_argument if one is missing.
[[nodiscard]] inline std::string list_of(const ClassWeight &weights) {
  std::string list = "[";
  int64_t next = 0;
  for (const auto &[label, weight] : weights) {
    if (label != next++)
      throw std::invalid_argument(
          "weighting classes: they are numbered from 0 on, and there is no " +
          std::to_string(next - 1));
    list += (next > 1 ? ", " : "") + nn::ConfigValue(weight).text();
  }
  return list + "]";
}

}  // namespace detail

// FitOptions().workers(2).shuffle(false). Settings that you leave out keep their values.
// configure_fit() rejects invalid ones.
class FitOptions {
 public:
  // The chief prints a line for every tenth of a workload. Default: false.
  FitOptions &verbose(bool prints) { return set("verbose", prints); }
  // Shuffles the batches of sequences and arrays in every epoch. Default: true.
  FitOptions &shuffle(bool shuffles) { return set("shuffle", shuffles); }
  // Threads that ask a sequence for batches ahead. Default: 0.
  FitOptions &workers(int64_t threads) { return set("workers", threads); }
  // Batches to ask for ahead. Default: 10.
  FitOptions &max_queue_size(int64_t batches) { return set("max_queue_size", batches); }
  // Batches of a validation on each rank. None: all.
  FitOptions &validation_steps(std::optional<int64_t> batches) {
    return set("validation_steps", batches ? nn::ConfigValue(*batches) : nn::ConfigValue(nullptr));
  }
  // The weight of each class, from class 0. None: all are 1.
  FitOptions &class_weight(const std::optional<ClassWeight> &weights) {
    return set("class_weight", weights ? nn::ConfigValue::json(detail::list_of(*weights))
                                       : nn::ConfigValue(nullptr));
  }

  // The JSON for det_keras_configure_fit().
  [[nodiscard]] std::string json() const { return said_.config(); }

 private:
  FitOptions &set(const char *key, const nn::ConfigValue &value) {
    said_.set_field(key, value);
    return *this;
  }

  nn::Described said_{"FitOptions"};
};

}  // namespace keras
}  // namespace v1
}  // namespace det
