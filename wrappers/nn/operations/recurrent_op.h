// Recurrent layers over whole sequences.
#pragma once

#include "wrappers/nn/activation.h"
#include "wrappers/nn/operations/dropout_op.h"

namespace det::nn {

// In: x (batch, steps, features), kernel (features, gates * units), recurrent kernel (units,
// gates * units) and, where there is one, a bias. The gates lie side by side in Keras' order.
// Out: the states after each step (batch, steps, units), in the order of the steps, and the last
// one (batch, units). Backwards, the first step takes the last of x.

// What is left out in training, by chance, before the products with the kernels: for each gate
// other elements of x and of the states, the same at all steps of a record. Draws, as of
// DropoutDraws: (gates, batch, features) of x, then (gates, batch, units) of the states.
struct GateDropout {
  float of_x = 0;  // rates below 1
  float of_states = 0;

  explicit operator bool() const { return of_x > 0 || of_states > 0; }
};

// What goes in behind the others. Steps of a record whose mask, (batch, steps), is 0 leave states
// as they were: what comes out of them is what came out before, at first zeros, or zeros each time.
// Without states of which the first step is taken, (batch, units) of each kind, they are zeros.
struct RecurrentExtras {
  bool has_mask = false;
  bool zeroes_masked = false;
  size_t states = 0;

  explicit operator bool() const { return has_mask || states > 0; }
  size_t inputs() const { return (has_mask ? 1 : 0) + states; }
};

// Gates: input, forget, cell, output. The bias is (4 * units). The last cell comes out as well.
struct LstmOp {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool goes_backwards = false;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// Gates: update, reset, candidate. Reset after the product with the recurrent kernel, the bias is
// (2, 3 * units), the second of which belongs to that product; before it, (3 * units).
struct GruOp {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool goes_backwards = false;
  bool resets_after = true;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// One gate: the state itself. The bias is (units).
struct SimpleRnnOp {
  Activation activation = Activation::tanh;
  bool goes_backwards = false;
  GateDropout dropout = {};
  RecurrentExtras extras = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
