// Pictures for terminals that draw Sixel.
#pragma once

#include <cairo.h>

#include <string>

namespace det::cli {

// Of an image in CAIRO_FORMAT_RGB24. Throws std::runtime_error, also where this was built without
// libsixel.
std::string encode_sixel(cairo_surface_t *image);

}  // namespace det::cli
