// What a model is compiled with, and what it has gathered since its metrics were reset.
#pragma once

#include <functional>

#include "wrappers/nn/model.h"

namespace det::nn {

struct Model::Compiled {
  Compiled(const Json &options, const std::vector<std::string> &results);

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
  void reset();
  std::vector<std::string> metric_names() const;
  size_t metric_count() const { return loss_count() + told_.size(); }
  double metric_value(size_t index) const;
  std::vector<double> metric_values() const;

  Objective objective;
  std::unique_ptr<Optimizer> optimizer;  // of any kind where none was named
  bool trains = false;                   // whether one was
  bool checks_numerics = false;

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
