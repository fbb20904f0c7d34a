#include "tests/nn/suite/operation_case.h"

namespace det::test {

using namespace nn;

namespace {

// 2 records of 3 steps with 4 features, for 5 units.
ArrayTypes sequences(int64_t gates, const Shape &bias) {
  ArrayTypes inputs{floats({2, 3, 4}), floats({4, gates * 5}), floats({5, gates * 5})};
  if (!bias.empty()) inputs.push_back(floats(bias));
  return inputs;
}

// As many records and units as back ends have other ways for.
ArrayTypes wide_sequences(int64_t gates, const Shape &bias) {
  ArrayTypes inputs{floats({9, 4, 33}), floats({33, gates * 40}), floats({40, gates * 40})};
  if (!bias.empty()) inputs.push_back(floats(bias));
  return inputs;
}

// So many that threads share them.
ArrayTypes many_sequences(int64_t gates, int64_t units, const Shape &bias) {
  return {floats({25, 7, 6}), floats({6, gates * units}), floats({units, gates * units}),
          floats(bias)};
}

// Such that states do not grow.
void fill_with_little(size_t input, const Array &array) {
  fill_randomly(array, 17 + input);
  for (float &value : array.elements()) value /= 16;
}

}  // namespace

OperationCases recurrent_cases() {
  const Activation tanh = Activation::tanh;
  const Activation sigmoid = Activation::sigmoid;
  const Activation softplus = Activation::softplus;
  return {
      {"LSTM", LstmOp{}, sequences(4, {20})},
      {"LSTM without a bias", LstmOp{}, sequences(4, {})},
      {"LSTM backwards", LstmOp{tanh, sigmoid, true}, sequences(4, {20})},
      {"LSTM with others", LstmOp{Activation::silu, softplus}, sequences(4, {20})},
      {"LSTM of one step", LstmOp{}, {floats({3, 1, 2}), floats({2, 4}), floats({1, 4})}},
      {"GRU", GruOp{}, sequences(3, {2, 15})},
      {"GRU without a bias", GruOp{}, sequences(3, {})},
      {"GRU backwards", GruOp{tanh, sigmoid, true}, sequences(3, {2, 15})},
      {"GRU with others", GruOp{Activation::silu, softplus}, sequences(3, {2, 15})},
      {"GRU that resets before", GruOp{tanh, sigmoid, false, false}, sequences(3, {15})},
      {"GRU that resets before, backwards and with others",
       GruOp{softplus, Activation::silu, true, false}, sequences(3, {})},
      {"simple RNN", SimpleRnnOp{}, sequences(1, {5})},
      {"simple RNN backwards", SimpleRnnOp{Activation::silu, true}, sequences(1, {})},
      {"wide LSTM", LstmOp{}, wide_sequences(4, {160})},
      {"wide LSTM backwards and with others", LstmOp{Activation::silu, softplus, true},
       wide_sequences(4, {})},
      {"wide GRU", GruOp{}, wide_sequences(3, {2, 120})},
      {"wide GRU backwards and with others", GruOp{Activation::silu, softplus, true},
       wide_sequences(3, {})},
      {"LSTM that leaves out", LstmOp{tanh, sigmoid, false, {0.3F, 0.4F}}, sequences(4, {20})},
      {"LSTM that leaves out of x, backwards", LstmOp{tanh, sigmoid, true, {0.5F, 0}},
       sequences(4, {})},
      {"GRU that leaves out", GruOp{tanh, sigmoid, false, true, {0.3F, 0.4F}},
       sequences(3, {2, 15})},
      {"GRU that leaves out of states, backwards", GruOp{tanh, sigmoid, true, true, {0, 0.5F}},
       sequences(3, {})},
      {"GRU that leaves out and resets before", GruOp{tanh, sigmoid, false, false, {0.3F, 0.4F}},
       sequences(3, {15})},
      {"simple RNN that leaves out", SimpleRnnOp{tanh, false, {0.3F, 0.4F}}, sequences(1, {5})},
      {"wide LSTM that leaves out", LstmOp{tanh, sigmoid, false, {0.3F, 0.4F}},
       wide_sequences(4, {160})},
      {"wide GRU that leaves out", GruOp{tanh, sigmoid, true, true, {0.3F, 0.4F}},
       wide_sequences(3, {})},
      {"LSTM of many sequences", LstmOp{}, many_sequences(4, 80, {320})},
      {"GRU of many sequences", GruOp{}, many_sequences(3, 108, {2, 324})},
      {"simple RNN of many sequences", SimpleRnnOp{}, many_sequences(1, 320, {320}),
       fill_with_little},
      {"wide simple RNN", SimpleRnnOp{}, wide_sequences(1, {40})},
      {"wide simple RNN backwards and with another", SimpleRnnOp{softplus, true},
       wide_sequences(1, {})},
  };
}

}  // namespace det::test
