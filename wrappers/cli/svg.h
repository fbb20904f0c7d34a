// Lines as a self-contained SVG picture.
#pragma once

#include <string>
#include <vector>

#include "series.h"

namespace det::cli {

// `title` and the names must be printable. Empty when there is no finite value.
std::string render_svg(const std::vector<Series> &series, const std::string &title);

}  // namespace det::cli
