// How a trial is trained and its data are read (seed: configure_fit).
#pragma once

#include <det/keras/class_weight.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace det {
inline namespace v1 {
namespace keras {

// FitOptions().workers(2).shuffle(false). What is not said stays as it was.
class FitOptions {
 public:
  // A line of the chief for every tenth of a workload; at first none.
  FitOptions &verbose(bool prints) { return set(verbose_, prints); }
  // The batches of sequences and arrays, in every epoch anew; at first they are.
  FitOptions &shuffle(bool shuffles) { return set(shuffle_, shuffles); }
  // Threads that ask a sequence ahead; at first 0.
  FitOptions &workers(int64_t threads) {
    if (threads < 0) refuse("there are 0 workers or more, not " + std::to_string(threads));
    return set(workers_, threads);
  }
  // How many batches ahead; at first 10.
  FitOptions &max_queue_size(int64_t batches) {
    if (batches < 1)
      refuse("one batch or more is made ahead, not " + std::to_string(batches) +
             " (max_queue_size)");
    return set(max_queue_size_, batches);
  }
  // Batches of a validation, of each rank; none: all.
  FitOptions &validation_steps(std::optional<int64_t> batches) {
    if (batches.value_or(1) < 1)
      refuse("a validation has one batch or more, not " + std::to_string(*batches) +
             " (validation_steps)");
    return set(validation_steps_, batches);
  }
  // Of each class, from 0 on; none: all count 1.
  FitOptions &class_weight(std::optional<ClassWeight> weights) {
    if (weights) detail::check_class_weight(*weights);
    return set(class_weight_, std::move(weights));
  }

  [[nodiscard]] bool verbose() const { return verbose_.value_or(false); }
  [[nodiscard]] bool shuffle() const { return shuffle_.value_or(true); }
  [[nodiscard]] int64_t workers() const { return workers_.value_or(0); }
  [[nodiscard]] int64_t max_queue_size() const { return max_queue_size_.value_or(10); }
  [[nodiscard]] std::optional<int64_t> validation_steps() const {
    return validation_steps_.value_or(std::nullopt);
  }
  [[nodiscard]] const std::optional<ClassWeight> &class_weight() const {
    static const std::optional<ClassWeight> none;
    return class_weight_ ? *class_weight_ : none;
  }

  // What the other ones say is said anew.
  void merge(const FitOptions &later) {
    const auto take = [](auto &mine, const auto &others) {
      if (others) mine = others;
    };
    take(verbose_, later.verbose_);
    take(shuffle_, later.shuffle_);
    take(workers_, later.workers_);
    take(max_queue_size_, later.max_queue_size_);
    take(validation_steps_, later.validation_steps_);
    take(class_weight_, later.class_weight_);
  }

 private:
  template <class Value>
  FitOptions &set(std::optional<Value> &place, Value value) {
    place = std::move(value);
    return *this;
  }
  [[noreturn]] static void refuse(const std::string &why) {
    throw std::invalid_argument("configuring a trial: " + why);
  }

  std::optional<bool> verbose_, shuffle_;
  std::optional<int64_t> workers_, max_queue_size_;
  // An option that is said to be none is not one that is not said.
  std::optional<std::optional<int64_t>> validation_steps_;
  std::optional<std::optional<ClassWeight>> class_weight_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det
