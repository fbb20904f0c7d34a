// Records that count more than others, by their class.
#pragma once

#include <span>

#include "wrappers/nn/model.h"

namespace det::nn {

// Gives each record of a batch the weight of its class, from class 0 on, times the one that it has.
// A class is a number, or the place of the largest of several. `room` has the weights as long as
// the batch is used. Throws Code::invalid for a batch of several results and for what is no class
// of these; the batch is then as before.
void weigh_classes(Batch &batch, std::span<const double> weights, std::vector<float> &room);

}  // namespace det::nn
