// Which metrics of a trial are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "curve.h"
#include "metric_names.h"

namespace det::cli {

// Those named, by the name, the last parts of a nested name, the group, or the group and one of
// these; without arguments the losses. Throws Failure (not found), with what may have been meant
// and what there is, where one of them is missing.
std::vector<Curve> choose_curves(int64_t trial, std::vector<Curve> curves,
                                 const std::vector<std::string> &arguments,
                                 const MetricNames &known);

// Where all of them are in one group: the others need not be read.
std::optional<std::string> only_group(const MetricNames &known,
                                      const std::vector<std::string> &arguments);

}  // namespace det::cli
