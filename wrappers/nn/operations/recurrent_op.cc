#include "wrappers/nn/operations/recurrent_op.h"

#include "core/base/error.h"

namespace det::nn {

namespace {

// `last_states` of what is kept from one step to the next.
ArrayTypes infer_recurrent(const ArrayTypes &inputs, const char *operation, int64_t gates,
                           bool has_two_biases, size_t last_states, const RecurrentExtras &extras) {
  expect_inputs(inputs, 3 + extras.inputs(), 4 + extras.inputs(), operation);
  const size_t first_extra = inputs.size() - extras.inputs();
  for (const ArrayType &input : inputs) expect_float(input, "an input");
  const Shape &x = inputs[0].shape;
  const Shape &recurrent = inputs[2].shape;
  if (x.size() != 3 || x[1] < 1)
    throw Error(Code::invalid, "an input of " + text_of(x) +
                                   " is no batch of sequences: it needs the axes batch, steps (one "
                                   "at least) and features");
  if (recurrent.size() != 2 || recurrent[1] != gates * recurrent[0])
    throw Error(Code::invalid, "a recurrent kernel of " + text_of(recurrent) + " has not " +
                                   std::to_string(gates) + " gates for each unit");
  const int64_t units = recurrent[0];
  expect_shape(inputs[1], {x[2], gates * units}, "the kernel");
  if (first_extra == 4)
    expect_shape(inputs[3], has_two_biases ? Shape{2, gates * units} : Shape{gates * units},
                 "the bias");
  if (extras.has_mask) expect_shape(inputs[first_extra], {x[0], x[1]}, "the mask");
  for (size_t i = inputs.size() - extras.states; i < inputs.size(); ++i)
    expect_shape(inputs[i], {x[0], units}, "a state to begin with");
  ArrayTypes outputs{{{x[0], x[1], units}, Dtype::f32}};
  outputs.insert(outputs.end(), last_states, {{x[0], units}, Dtype::f32});
  return outputs;
}

}  // namespace

ArrayTypes LstmOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "LSTM", 4, false, 2, extras);
}

ArrayTypes GruOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "GRU", 3, resets_after, 1, extras);
}

ArrayTypes SimpleRnnOp::infer(const ArrayTypes &inputs) const {
  return infer_recurrent(inputs, "simple RNN", 1, false, 1, extras);
}

}  // namespace det::nn
