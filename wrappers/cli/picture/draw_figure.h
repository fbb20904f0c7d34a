// Figures as files of pictures.
#pragma once

#include <string>

#include "wrappers/cli/picture_entry.h"

namespace det::cli {

// The whole file. Throws std::runtime_error.
std::string draw_figure(const Figure &figure, PictureFormat format, const PictureSize &size);

}  // namespace det::cli
