// Recurrent layers over whole sequences, from states of zeros.
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

// Gates: input, forget, cell, output. The bias is (4 * units). The last cell comes out as well.
struct LstmOp {
  Activation activation = Activation::tanh;
  Activation recurrent_activation = Activation::sigmoid;
  bool goes_backwards = false;
  GateDropout dropout = {};

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

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

// One gate: the state itself. The bias is (units).
struct SimpleRnnOp {
  Activation activation = Activation::tanh;
  bool goes_backwards = false;
  GateDropout dropout = {};

  ArrayTypes infer(const ArrayTypes &inputs) const;
};

}  // namespace det::nn
