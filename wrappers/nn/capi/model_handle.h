// The handle of det/nn.h: a model, and what is lent to the caller.
#pragma once

#include <det/nn.h>

#include <span>
#include <string>
#include <vector>

#include "wrappers/nn/model/model.h"

struct det_nn_model {
  explicit det_nn_model(const det::Json &described, const det::nn::ModelOptions &options)
      : impl(described, options) {}

  // Arrays of the model under their names.
  class Lent {
   public:
    void add(std::string name, const det::nn::Array &array);
    bool empty() const { return tensors_.empty(); }
    std::span<const det_tensor> give();

   private:
    std::vector<std::string> names_;
    std::vector<std::vector<int64_t>> shapes_;
    std::vector<det_tensor> tensors_;
  };

  void compile(const det::Json &options);
  void train_on_batch(const det::nn::Batch &given);
  void test_on_batch(const det::nn::Batch &given);
  std::span<const det_tensor> lend_weights();
  std::span<const det_tensor> lend_optimizer_state();
  // Metrics appear with the first batch.
  void renew_metric_names();

  det::nn::Model impl;
  det::nn::Batch batch;  // of the last call: its room is used again
  std::vector<std::string> metric_names;
  bool has_optimizer = false;
  Lent weights, state, results;
};
