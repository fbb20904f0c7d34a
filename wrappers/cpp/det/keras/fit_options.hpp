// How a trial is trained and its data are read (seed: configure_fit).
#pragma once

#include <det/nn/config.hpp>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

namespace det {
inline namespace v1 {
namespace keras {

// How much the records of each class count.
using ClassWeight = std::map<int64_t, double>;

namespace detail {

// A number for each class. Throws std::invalid_argument where one is missing.
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

// FitOptions().workers(2).shuffle(false). What is not said stays as it was; what cannot be is
// refused by configure_fit().
class FitOptions {
 public:
  // A line of the chief for every tenth of a workload; at first none.
  FitOptions &verbose(bool prints) { return set("verbose", prints); }
  // The batches of sequences and arrays, in every epoch anew; at first they are.
  FitOptions &shuffle(bool shuffles) { return set("shuffle", shuffles); }
  // Threads that ask a sequence ahead; at first 0.
  FitOptions &workers(int64_t threads) { return set("workers", threads); }
  // How many batches ahead; at first 10.
  FitOptions &max_queue_size(int64_t batches) { return set("max_queue_size", batches); }
  // Batches of a validation, of each rank; none: all.
  FitOptions &validation_steps(std::optional<int64_t> batches) {
    return set("validation_steps", batches ? nn::ConfigValue(*batches) : nn::ConfigValue(nullptr));
  }
  // Of each class, from 0 on; none: all count 1.
  FitOptions &class_weight(const std::optional<ClassWeight> &weights) {
    return set("class_weight", weights ? nn::ConfigValue::json(detail::list_of(*weights))
                                       : nn::ConfigValue(nullptr));
  }

  // What det_keras_configure_fit() takes.
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
