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

// With a mask, and as many states to begin with.
ArrayTypes with_extras(ArrayTypes inputs, size_t states) {
  const Shape x = inputs[0].shape;
  inputs.push_back(floats({x[0], x[1]}));
  inputs.insert(inputs.end(), states, floats({x[0], inputs[2].shape[0]}));
  return inputs;
}

// Steps that count, and others, at both ends; `mask` is the number of that input.
std::function<void(size_t, const Array &)> fill_with_mask(size_t mask) {
  return [mask](size_t input, const Array &array) {
    fill_randomly(array, 23 + input);
    for (size_t i = 0; input == mask && i < array.size(); ++i)
      array.data()[i] = i == 0 || i == 2 ? 0 : 1;
  };
}

std::vector<bool> all_but_mask(size_t mask, size_t states) {
  std::vector<bool> are(mask + 1 + states, true);
  are[mask] = false;
  return are;
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
      {"LSTM with a mask", LstmOp{tanh, sigmoid, false, {}, {true}},
       with_extras(sequences(4, {20}), 0), fill_with_mask(4), all_but_mask(4, 0)},
      {"GRU with a mask, backwards", GruOp{tanh, sigmoid, true, true, {}, {true}},
       with_extras(sequences(3, {}), 0), fill_with_mask(3), all_but_mask(3, 0)},
      {"simple RNN with a mask", SimpleRnnOp{softplus, false, {}, {true}},
       with_extras(sequences(1, {5}), 0), fill_with_mask(4), all_but_mask(4, 0)},
      {"LSTM with a mask and states", LstmOp{tanh, sigmoid, false, {}, {true, false, 2}},
       with_extras(sequences(4, {20}), 2), fill_with_mask(4), all_but_mask(4, 2)},
      {"LSTM with a mask, backwards", LstmOp{tanh, sigmoid, true, {}, {true, true}},
       with_extras(sequences(4, {}), 0), fill_with_mask(3), all_but_mask(3, 0)},
      {"GRU with a mask and a state", GruOp{tanh, sigmoid, false, true, {}, {true, false, 1}},
       with_extras(sequences(3, {2, 15}), 1), fill_with_mask(4), all_but_mask(4, 1)},
      {"GRU that resets before, with a mask", GruOp{tanh, sigmoid, true, false, {}, {true, true}},
       with_extras(sequences(3, {15}), 0), fill_with_mask(4), all_but_mask(4, 0)},
      {"simple RNN with a mask and a state", SimpleRnnOp{tanh, false, {}, {true, false, 1}},
       with_extras(sequences(1, {5}), 1), fill_with_mask(4), all_but_mask(4, 1)},
      {"wide simple RNN", SimpleRnnOp{}, wide_sequences(1, {40})},
      {"wide simple RNN backwards and with another", SimpleRnnOp{softplus, true},
       wide_sequences(1, {})},
  };
}

}  // namespace det::test
