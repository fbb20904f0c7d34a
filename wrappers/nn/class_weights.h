// Records that count more than others, by their class.
#pragma once

#include <span>

#include "wrappers/nn/losses/loss.h"

namespace det::nn {

// Multiplies the weight of each row of what is compared by that of its class, from class 0 on. A
// class is a number, or the place of the largest of several. `truth` is what the loss compares
// with. Throws Code::invalid for what is no class of these.
void weigh_classes(const Array &truth, const Loss &loss, std::span<const double> weights,
                   const Array &rows);

}  // namespace det::nn
