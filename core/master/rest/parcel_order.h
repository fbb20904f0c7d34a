// The order that masters before 0.33 need.
#pragma once

#include <vector>

#include "core/master/rest/parcel.h"

namespace det::master {

// Puts what was reported of training before what was reported of validation at the same step:
// afterwards these masters refuse it as a duplicate.
void put_training_first(std::vector<Parcel> &parcels);

}  // namespace det::master
