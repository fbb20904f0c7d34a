#include "wrappers/cli/plot/picture/sixel_encoder.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#if DET_WITH_SIXEL
#include <sixel.h>
#endif

namespace det::cli {

#if DET_WITH_SIXEL

namespace {

constexpr int most_colours = 256;

void check(SIXELSTATUS status) {
  if (SIXEL_FAILED(status))
    throw std::runtime_error(std::string("drawing in Sixel: ") + sixel_helper_format_error(status));
}

int append_sixel(char *data, int size, void *text) {
  static_cast<std::string *>(text)->append(data, static_cast<size_t>(size));
  return size;
}

// The colours that most pixels have, exactly; the others get the nearest of them.
std::vector<unsigned char> palette_of(const std::vector<unsigned char> &pixels) {
  std::unordered_map<uint32_t, size_t> counts;
  for (size_t i = 0; i + 2 < pixels.size(); i += 3)
    ++counts[static_cast<uint32_t>(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2])];
  std::vector<std::pair<size_t, uint32_t>> order;
  for (const auto &[colour, count] : counts) order.emplace_back(count, colour);
  std::sort(order.rbegin(), order.rend());
  order.resize(std::min<size_t>(order.size(), most_colours));
  std::vector<unsigned char> palette;
  for (const auto &entry : order)
    for (const int shift : {16, 8, 0})
      palette.push_back(static_cast<unsigned char>(entry.second >> shift));
  return palette;
}

std::vector<unsigned char> pixels_of(cairo_surface_t *image) {
  cairo_surface_flush(image);
  const int width = cairo_image_surface_get_width(image),
            height = cairo_image_surface_get_height(image);
  const unsigned char *row = cairo_image_surface_get_data(image);
  std::vector<unsigned char> out;
  for (int y = 0; y < height; ++y, row += cairo_image_surface_get_stride(image)) {
    for (int x = 0; x < width; ++x) {
      uint32_t pixel = 0;
      std::memcpy(&pixel, row + x * 4, sizeof pixel);
      for (const int shift : {16, 8, 0}) out.push_back(static_cast<unsigned char>(pixel >> shift));
    }
  }
  return out;
}

}  // namespace

std::string encode_sixel(cairo_surface_t *image) {
  std::vector<unsigned char> pixels = pixels_of(image);
  const int width = cairo_image_surface_get_width(image),
            height = cairo_image_surface_get_height(image);
  std::string text;
  sixel_output_t *output = nullptr;
  sixel_dither_t *dither = nullptr;
  check(sixel_output_new(&output, append_sixel, &text, nullptr));
  const std::unique_ptr<sixel_output_t, void (*)(sixel_output_t *)> owner(output,
                                                                          sixel_output_unref);
  std::vector<unsigned char> palette = palette_of(pixels);
  check(sixel_dither_new(&dither, static_cast<int>(palette.size() / 3), nullptr));
  const std::unique_ptr<sixel_dither_t, void (*)(sixel_dither_t *)> other(dither,
                                                                          sixel_dither_unref);
  sixel_dither_set_palette(dither, palette.data());
  sixel_dither_set_pixelformat(dither, SIXEL_PIXELFORMAT_RGB888);
  sixel_dither_set_diffusion_type(dither, SIXEL_DIFFUSE_NONE);
  check(sixel_encode(pixels.data(), width, height, 0, dither, output));
  return text;
}

#else

std::string encode_sixel(cairo_surface_t *) {
  throw std::runtime_error("drawing in Sixel: built without libsixel");
}

#endif

}  // namespace det::cli
