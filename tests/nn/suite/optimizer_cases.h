// Optimizers that between them have each update rule, and all that is done beside it.
#pragma once

#include <vector>

#include "core/base/json.h"

namespace det::test {

// Slots begin with zeros, and a step is an update.
std::vector<Json> optimizers_of_each_rule();

// Slots begin with another number.
std::vector<Json> optimizers_of_filled_slots();

// Gradients are made shorter, weights decay or are averaged, the rate changes.
std::vector<Json> optimizers_that_do_more();

}  // namespace det::test
