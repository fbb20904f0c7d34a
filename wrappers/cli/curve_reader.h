// The curves of trials, from a store or a master.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "curve.h"
#include "library_client.h"

namespace det::cli {

// Of the metrics that choose_curves() finds. Throws Failure. `with_epochs` also asks the
// configuration how long an epoch is.
std::vector<Curve> read_curves(Client &client, int64_t trial,
                               const std::vector<std::string> &metrics, bool with_epochs);

}  // namespace det::cli
