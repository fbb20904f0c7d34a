// Images, as TensorBoard keeps them: encoded, with their size beside them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace det::tensorboard {

struct Image {
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t channels = 0;  // 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::string encoded{};
};

// 8 bits a channel, row by row from the top, without a gap.
struct Pixels {
  const unsigned char *first = nullptr;
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;
};

// Takes the size from the head of a PNG or JPEG file; what follows is not looked at. Throws
// Code::invalid for anything else.
Image read_image(std::string_view encoded);

// A PNG file of them, not compressed. Throws Code::invalid for a size that no image has, or of more
// than `most` bytes, which is at most INT32_MAX.
Image encode_png(const Pixels &pixels, int64_t most);

}  // namespace det::tensorboard
