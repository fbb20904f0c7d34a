// The one thing that detcore-picture shows to `det`.
#pragma once

#include <cstdint>
#include <string>

#include "wrappers/cli/plot/figure.h"

namespace det::cli {

enum class PictureFormat { svg, pdf, png, sixel };

// Pixels, or for pictures without pixels points (1/72 inch).
struct PictureSize {
  int width = 0, height = 0;
  double scale = 1;  // of texts and lines
};

// Under the name `picture_entry_name`. Objects of C++ go in, so that both must be of one build.
struct PictureEntry {
  const char *build;  // as picture_build
  bool with_sixel;
  // The file. Throws std::exception.
  std::string (*draw)(const Figure &figure, PictureFormat format, const PictureSize &size);
};

inline constexpr const char *picture_entry_name = "det_picture_entry";
inline constexpr const char *picture_build = DET_PICTURE_BUILD " " __VERSION__;

}  // namespace det::cli
