// Metrics that are the mean over records of one number each.
#pragma once

#include <functional>
#include <optional>

#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/loss_function.h"
#include "wrappers/nn/metrics/metric.h"

namespace det::nn {

// One row of a batch, that is all there is along the last axis.
struct ComparedRow {
  const float *prediction;
  const float *truth;  // of the same size; null where there is a label
  size_t size;
  int32_t label;
  bool has_binary_truth;  // all labels of the batch are 0 or 1
};

class MeanMetric : public Metric {
 public:
  using Measure = std::function<double(const ComparedRow &row)>;
  using Finish = double (*)(double mean);

  // Rows of the label `ignored` do not count.
  MeanMetric(std::string name, Measure measure, Finish finish = nullptr,
             std::optional<int64_t> ignored = {})
      : name_(std::move(name)), measure_(std::move(measure)), finish_(finish), ignored_(ignored) {}

  std::vector<std::string> names() const override { return {name_}; }
  void update(const Array &truth, const Array &prediction, const Array &weights) override;
  double result(size_t index) const override;
  void reset() override { sum_ = count_ = 0; }

 private:
  const std::string name_;
  const Measure measure_;
  const Finish finish_;
  const std::optional<int64_t> ignored_;
  double sum_ = 0;
  double count_ = 0;
};

// Null for a name, in folded_name()'s form, that none of them has.
std::unique_ptr<Metric> make_accuracy(const std::string &folded, const std::string &name,
                                      Fields &fields);
std::unique_ptr<Metric> make_mean_of_losses(const std::string &given, const std::string &name,
                                            Fields &fields);

}  // namespace det::nn
