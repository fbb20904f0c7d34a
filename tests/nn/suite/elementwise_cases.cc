#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

OperationCases elementwise_cases() {
  OperationCases cases;
  for (int i = 0; i <= static_cast<int>(Activation::leaky_relu); ++i) {
    const auto activation = static_cast<Activation>(i);
    cases.push_back(
        {std::string("activation ") + name_of(activation) + " (" + std::to_string(i) + ")",
         ActivationOp{activation, 0.3F},
         {floats({3, 17})}});
  }
  // Nothing is near the threshold, or the largest value.
  const auto fill_beside_kinks = [](size_t, const Array &x) {
    for (size_t i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(i % 19) / 8 - 1.03F;
  };
  for (const ReluOp &op : {ReluOp{0, 0.5F}, ReluOp{0.2F, 0.25F}, ReluOp{0, 0, 0.75F},
                           ReluOp{0.3F, 0.5F, 1}, ReluOp{0.1F, 0.5F, 0.25F}})
    cases.push_back({"relu of " + std::to_string(op.slope) + ", " + std::to_string(op.threshold) +
                         " and " + std::to_string(op.largest),
                     op,
                     {floats({3, 17})},
                     fill_beside_kinks});
  cases.push_back({"scale", ScaleOp{-2.5F}, {floats({2, 9})}});
  cases.push_back({"softmax", SoftmaxOp{}, {floats({3, 6})}});
  cases.push_back({"softmax of many rows", SoftmaxOp{}, {floats({40, 2, 33})}});
  cases.push_back({"logarithm of a softmax", SoftmaxOp{true}, {floats({3, 6})}});
  cases.push_back({"logarithm of a softmax of many rows", SoftmaxOp{true}, {floats({40, 2, 33})}});
  for (const Activation activation : {Activation::sigmoid, Activation::tanh, Activation::softplus,
                                      Activation::silu, Activation::gelu})
    cases.push_back({std::string("of many ") + name_of(activation),
                     ActivationOp{activation},
                     {floats({33, 2, 40})}});
  cases.push_back({"softmax of three axes", SoftmaxOp{}, {floats({2, 2, 5})}});
  cases.push_back({"reshape", ReshapeOp{{6, 4}}, {floats({2, 3, 4})}});
  for (const Arithmetic arithmetic : {Arithmetic::add, Arithmetic::subtract, Arithmetic::multiply,
                                      Arithmetic::maximum, Arithmetic::minimum}) {
    const std::string number = std::to_string(static_cast<int>(arithmetic));
    cases.push_back(
        {"arithmetic " + number, ArithmeticOp{arithmetic}, {floats({3, 8}), floats({3, 8})}});
    cases.push_back(
        {"repeated arithmetic " + number, ArithmeticOp{arithmetic}, {floats({3, 8}), floats({8})}});
  }
  cases.push_back({"addition of large arrays",
                   ArithmeticOp{Arithmetic::add},
                   {floats({70, 9, 120}), floats({70, 9, 120})}});
  cases.push_back({"repeated addition to a large array",
                   ArithmeticOp{Arithmetic::add},
                   {floats({70, 9, 120}), floats({9, 120})}});
  for (const auto &[name, op] : {std::pair{"absolute", FunctionOp{Function::absolute}},
                                 {"clip", FunctionOp{Function::clip, -0.7F, 0.4F}},
                                 {"differs", FunctionOp{Function::differs, 0.25F}},
                                 {"real", FunctionOp{Function::real}}})
    cases.push_back({std::string("function ") + name, op, {floats({3, 17})}, fill_beside_kinks});
  for (const auto &[name, op] : {std::pair{"logarithm", FunctionOp{Function::logarithm}},
                                 {"power of 2", FunctionOp{Function::power, 2}},
                                 {"power of -1", FunctionOp{Function::power, -1}},
                                 {"power of 0.5", FunctionOp{Function::power, 0.5F}}})
    cases.push_back(
        {std::string("function ") + name, op, {floats({3, 17})}, [](size_t, const Array &x) {
           for (size_t i = 0; i < x.size(); ++i)
             x.data()[i] = 0.6F + static_cast<float>(i % 19) / 8;
         }});
  cases.push_back({"regularization", RegularizationOp{{0.3F, 0.2F}}, {floats({3, 5})}});
  return cases;
}

}  // namespace det::test
