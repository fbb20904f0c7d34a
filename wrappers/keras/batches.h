// Batches of a caller as those of det::keras.
#pragma once

#include "wrappers/keras/both_faces.h"

// Of arrays that stay as they are.
det::v1::nn::Batch lent_batch(const det_nn_batch *given);

// With numbers of its own.
det::v1::nn::Batch copied_batch(const det_nn_batch *given);
