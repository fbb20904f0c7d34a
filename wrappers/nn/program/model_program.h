// A model at one shape of its batch: operations in the order in which they are computed, each on
// values that are there already.
#pragma once

#include <string>
#include <vector>

#include "wrappers/nn/operations/operations.h"

namespace det::nn {

// A value of a program: the index of one that was fed, of a weight, of numbers that are always the
// same, or of what an operation gives.
using Value = size_t;

struct Program {
  enum class Source { fed, weight, constant, computed };

  struct ValueFacts {
    ArrayType type;
    Source source = Source::computed;
    size_t index = 0;  // of what is fed, of the weight or of the constant, in their order
    bool has_gradient =
        false;  // something that is trained, or whose gradient is asked for, is in it
    Dtype precision = Dtype::f32;  // F16 or BF16: of real numbers that are all of that type
  };

  struct Step {
    Operation operation;
    std::vector<Value> inputs;
    std::vector<Value> outputs;
    std::string layer;  // for errors: "dense_1 (Dense)"
  };

  std::vector<ValueFacts> values;
  std::vector<Step> steps;
  std::vector<Value> fed;
  std::vector<Array> constants;
  std::vector<Value> results;
};

}  // namespace det::nn
