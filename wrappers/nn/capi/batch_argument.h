// Batches of a caller as the engine has them.
#pragma once

#include <det/nn.h>

#include "wrappers/nn/model/model.h"

// The tensors of a caller as arrays, which look at his memory. `what` names them in errors.
void borrow_arrays(const det_tensor *given, size_t count, const char *what,
                   std::vector<det::nn::Array> &arrays);

// A batch of his with what it has of this release, where it is a pointer to one.
det_nn_batch read_batch(const det_nn_batch *given);

// Its arrays; class weights are not multiplied in.
void borrow_batch(const det_nn_batch &given, det::nn::Batch &batch);
