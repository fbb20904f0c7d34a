// A model by the plain loops and the same on another back end.
#pragma once

#include <functional>
#include <string>

#include "tests/nn/suite/small_model.h"

namespace det::test {

// What both are given, they agree about afterwards.
class ModelPair {
 public:
  // `options` are those of Model::compile().
  ModelPair(const Json &described, const Json &options, const std::string &backend,
            uint64_t seed = 1);

  // Fails where the two differ after it: in weights, gradients that were applied, the state of
  // training, results or metrics.
  void both(const std::string &what, const std::function<void(nn::Model &)> &use);
  void train(const std::string &what, const nn::Batch &batch);
  void test(const std::string &what, const nn::Batch &batch);
  void predict(const std::string &what, const nn::Batch &batch);

  nn::Model loops, other;

 private:
  void compare(const std::string &what) const;
};

// Every kind of layer that has kernels of its own: images to three classes, and ids to two.
Json model_of_images();
nn::Batch images(int64_t records, uint64_t seed = 7);
Json model_of_ids();
nn::Batch ids(int64_t records, uint64_t seed = 7);

}  // namespace det::test
