// Figures as files of pictures: all that detcore-picture shows. `det` finds it by name
// (wrappers/cli/plot/plot_output.cc).
#include <cairo-pdf.h>
#include <cairo-svg.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "wrappers/cli/plot/picture/canvas.h"
#include "wrappers/cli/plot/picture/sixel_encoder.h"
#include "wrappers/cli/plot/picture_entry.h"

namespace det::cli {

namespace {

using Surface = std::unique_ptr<cairo_surface_t, void (*)(cairo_surface_t *)>;

cairo_status_t append(void *file, const unsigned char *data, unsigned length) {
  static_cast<std::string *>(file)->append(reinterpret_cast<const char *>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

void check(cairo_status_t status) {
  if (status == CAIRO_STATUS_NO_MEMORY) throw std::bad_alloc();
  if (status != CAIRO_STATUS_SUCCESS)
    throw std::runtime_error(std::string("drawing the picture: ") + cairo_status_to_string(status));
}

cairo_surface_t *make_surface(PictureFormat format, const PictureSize &size, std::string &file) {
  if (format == PictureFormat::svg)
    return cairo_svg_surface_create_for_stream(append, &file, size.width, size.height);
  if (format == PictureFormat::pdf)
    return cairo_pdf_surface_create_for_stream(append, &file, size.width, size.height);
  return cairo_image_surface_create(CAIRO_FORMAT_RGB24, size.width, size.height);
}

// The whole file. Throws std::runtime_error.
std::string draw_figure(const Figure &figure, PictureFormat format, const PictureSize &size) {
  std::string file;
  const Surface surface(make_surface(format, size, file), cairo_surface_destroy);
  check(cairo_surface_status(surface.get()));
  {
    const std::unique_ptr<cairo_t, void (*)(cairo_t *)> cairo(cairo_create(surface.get()),
                                                              cairo_destroy);
    cairo_scale(cairo.get(), size.scale, size.scale);
    Canvas canvas(cairo.get(), size.width / size.scale, size.height / size.scale);
    std::visit([&](const auto &kind) { draw(canvas, kind); }, figure);
    check(cairo_status(cairo.get()));
  }
  if (format == PictureFormat::sixel) return encode_sixel(surface.get());
  if (format == PictureFormat::png)
    check(cairo_surface_write_to_png_stream(surface.get(), append, &file));
  cairo_surface_finish(surface.get());
  check(cairo_surface_status(surface.get()));
  return file;
}

}  // namespace

}  // namespace det::cli

extern "C" {
[[gnu::visibility("default")]] extern const det::cli::PictureEntry det_picture_entry;
const det::cli::PictureEntry det_picture_entry{det::cli::picture_build, DET_WITH_SIXEL != 0,
                                               &det::cli::draw_figure};
}
