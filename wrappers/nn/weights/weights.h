// The weights of a model. Those that are trained lie side by side, in the order of the layers, and
// so do their gradients: an optimizer walks over all of them at once, and ranks add them up.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/weights/constraint.h"
#include "wrappers/nn/weights/initializer.h"
#include "wrappers/nn/weights/regularizer.h"

namespace det::nn {

class Backend;

struct WeightOptions {
  Shape shape;
  std::shared_ptr<const Initializer> initializer;
  bool is_trained = true;
  Regularizer regularizer = {};
  std::shared_ptr<const Constraint> constraint = {};
};

struct Weight {
  std::string name;  // "dense/kernel"
  WeightOptions options;
  Array value;
  Array gradient;  // of one that is trained
};

class Weights {
 public:
  static constexpr size_t alignment = 64;  // of each, in bytes

  // The one of this name, or a new one. Throws Code::invalid where it has another shape, and
  // Code::state where no more can be added.
  size_t find_or_add(const std::string &name, const WeightOptions &options);

  // Gives all of them memory and first values, which follow from the seed and the order alone. No
  // more can be added. Memory is that of the back end, where there is one.
  void settle(uint64_t seed, Backend *backend = nullptr);
  bool is_settled() const { return is_settled_; }
  // Has gradients lie in this array, of the size of gradients(), from now on.
  void move_gradients(Array to);

  const std::vector<Weight> &all() const { return weights_; }
  const Weight &at(size_t index) const { return weights_.at(index); }
  // All trained values side by side, and their gradients. Between them are gaps of zeros, so that
  // each begins where vector units like it.
  const Array &trained() const { return trained_; }
  const Array &gradients() const { return gradients_; }
  // Remembers the values of weights that are not trained, such as moving means; and gives them back
  // what was remembered last.
  void keep_others();
  void restore_others();
  // What lies where a trained weight does, in an array of the layout of trained().
  Array beside(const Weight &weight, const Array &all) const;

 private:
  std::vector<Weight> weights_;
  std::unordered_map<std::string, size_t> indices_;
  bool is_settled_ = false;
  Array trained_, gradients_, others_;
  std::vector<float> kept_others_;
};

}  // namespace det::nn
