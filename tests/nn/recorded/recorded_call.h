// A recorded call of a model of Keras, repeated by ours.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/nn/recorded/fixture.h"
#include "wrappers/nn/model/graph.h"
#include "wrappers/nn/program/executable.h"

namespace det::test {

// The number of the weight of ours that Keras calls `name` ("dense/kernel:0"), for each of its
// weights. Throws Code::unsupported where there is none of that shape.
std::vector<size_t> places_of_weights(const nn::Weights &weights,
                                      const std::vector<std::string> &names,
                                      const std::vector<nn::Shape> &shapes);

class RecordedCall {
 public:
  // A case of layers/: reads the model, gives it the recorded weights and inputs.
  RecordedCall(const Fixture &fixture, const Json &about, nn::Backend &backend);

  // Throw where what comes out is not what was recorded.
  void compare_outputs();
  void compare_gradients();
  void compare_regularization();
  void compare_states();

 private:
  void expect(const nn::Array &got, const nn::Array &expected, const std::string &what) const;
  void fill_regularization_gradients(float value);
  const nn::Array &recorded(const std::string &array, size_t index) const;
  bool is_recorded(const std::string &array, size_t index) const;

  static constexpr double tolerance = 1e-5;

  const Fixture &fixture_;
  const std::string prefix_;
  nn::Dtype precision_ = nn::Dtype::f32;  // of what is computed
  nn::Weights weights_;
  nn::StepState state_;
  bool has_weight_gradients_;
  std::vector<size_t> places_;           // by Keras' order of weights, ours
  size_t inputs_;                        // fed in Keras' order
  std::vector<size_t> outputs_;          // by Keras' order of outputs, ours
  std::vector<size_t> regularizations_;  // results behind the outputs, one of each weight
  std::unique_ptr<nn::Executable> executable_;
};

}  // namespace det::test
