// The values of curves, for other programs.
#pragma once

#include <vector>

#include "curve_panel.h"
#include "terminal.h"

namespace det::cli {

// An object a line for each.
void print_curves_json(const std::vector<Curve> &curves, const CurveStyle &style);

// A line for each value.
void print_curves_csv(const std::vector<Curve> &curves, const CurveStyle &style,
                      const Terminal &terminal);

}  // namespace det::cli
