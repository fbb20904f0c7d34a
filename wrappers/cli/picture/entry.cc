// All that detcore-picture shows; `det` finds it by name (wrappers/cli/picture.cc).
#include "draw_figure.h"
#include "wrappers/cli/picture_entry.h"

extern "C" {
[[gnu::visibility("default")]] extern const det::cli::PictureEntry det_picture_entry;
const det::cli::PictureEntry det_picture_entry{det::cli::picture_build, DET_WITH_SIXEL != 0,
                                               &det::cli::draw_figure};
}
