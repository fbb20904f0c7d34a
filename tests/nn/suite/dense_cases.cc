#include "tests/nn/suite/operation_case.h"

namespace det::test {

using nn::Activation;
using nn::DenseOp;

OperationCases dense_cases() {
  OperationCases cases{
      {"dense without a bias", DenseOp{}, {floats({3, 5}), floats({5, 4})}},
      {"dense of one record", DenseOp{}, {floats({1, 7}), floats({7, 3}), floats({3})}},
      {"dense over the last of three axes",
       DenseOp{},
       {floats({2, 3, 5}), floats({5, 4}), floats({4})}},
      {"dense of a wide layer", DenseOp{}, {floats({33, 70}), floats({70, 65}), floats({65})}},
  };
  for (const Activation activation : {Activation::relu, Activation::sigmoid, Activation::tanh})
    cases.push_back({std::string("dense and ") + name_of(activation),
                     DenseOp{activation},
                     {floats({4, 6}), floats({6, 5}), floats({5})}});
  // Of many records back ends compute otherwise.
  for (const Activation activation : {Activation::relu, Activation::sigmoid, Activation::tanh})
    cases.push_back({std::string("wide dense and ") + name_of(activation),
                     DenseOp{activation},
                     {floats({17, 40}), floats({40, 33}), floats({33})}});
  return cases;
}

}  // namespace det::test
