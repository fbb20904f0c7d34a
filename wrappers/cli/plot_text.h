// Figures as texts, one kind each.
#pragma once

#include <string>

#include "figure.h"
#include "terminal.h"

namespace det::cli {

constexpr int plot_rows = 16;

// In columns.
int plot_width(const Terminal &terminal);

// Empty for a figure without values.
std::string render(const Panels &panels, const Terminal &terminal);
std::string render(const Parallel &parallel, const Terminal &terminal);
std::string render(const Bars &bars, const Terminal &terminal);

}  // namespace det::cli
