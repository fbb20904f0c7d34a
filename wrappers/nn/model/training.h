// What a model is trained with: an optimizer, losses, and metrics with what they have gathered.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "wrappers/nn/metrics/metric.h"
#include "wrappers/nn/optimizers/optimizer.h"
#include "wrappers/nn/program/plan.h"

namespace det::nn {

class Training {
 public:
  // As Model::compile() has it, for a model with these results.
  Training(const Json &options, const std::vector<std::string> &results);

  const Objective &objective() const { return objective_; }
  // Of any kind where none was named; trains() says whether one was.
  Optimizer &optimizer() { return *optimizer_; }
  const Optimizer &optimizer() const { return *optimizer_; }
  bool trains() const { return trains_; }
  bool checks_numerics() const { return checks_numerics_; }
  // From now on the loss is scaled, as the optimizer or else `scale` says.
  void scale_loss(const LossScale &scale);

  // Names of the results that are compared.
  const std::vector<std::string> &compared() const { return compared_; }
  // Once it is known of what type each result is, and for each batch with others. Throws
  // Code::invalid where a metric does not fit.
  void make_metrics(const std::function<const ArrayType &(size_t result)> &type_of);
  // Whether a metric is to be told of certain numbers alone.
  bool limits_values() const { return limits_values_; }
  // Throws Code::invalid where what a plan has computed, or what that is compared with, is none.
  void check_values(const Plan &plan) const;
  void gather(const Plan &plan);

  // Of all batches since reset_metrics(): "loss", then of several results "NAME_loss" each, then
  // the metrics.
  std::vector<std::string> metric_names() const;
  std::vector<double> metrics() const;
  size_t metric_count() const { return loss_count() + told_.size(); }
  double metric(size_t index) const;
  void reset_metrics();

 private:
  struct Gathered {
    size_t compared;
    bool is_weighted;  // by the weights of records
    std::unique_ptr<Metric> metric;
  };
  // One number of a metric.
  struct Told {
    const Metric *metric;
    size_t index;
    std::string name;
  };

  // As Keras names them: that of the result before it where there are several, and where another
  // has the name already "weighted_" before it, or a number behind it.
  std::string told_name(const std::vector<Told> &told, const Gathered &one,
                        const std::string &name) const;
  ArrayType truth_of(size_t compared, const ArrayType &prediction) const;
  // The whole loss, and of several results each one's.
  size_t loss_count() const { return has_several_ ? loss_sums_.size() : 1; }

  Objective objective_;
  std::unique_ptr<Optimizer> optimizer_;
  bool trains_ = false, checks_numerics_ = false;
  const bool has_several_;
  std::vector<std::string> compared_;
  // Of each that is compared, an array.
  std::vector<Json> named_metrics_, named_weighted_metrics_;
  bool has_metrics_ = false, limits_values_ = false;
  std::vector<ArrayType> predictions_;  // of the last batch, each that is compared
  std::vector<Gathered> gathered_;
  std::vector<Told> told_;
  std::vector<double> loss_sums_;  // the whole, then each
  double records_ = 0;
};

}  // namespace det::nn
