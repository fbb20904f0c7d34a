#include "core/tensorboard/image.h"

#include "core/base/error.h"

namespace det::tensorboard {

namespace {

[[noreturn]] void refuse_image(const std::string &why) {
  throw Error(Code::invalid, "adding an image: " + why);
}

uint32_t big_endian(std::string_view bytes) {
  uint32_t number = 0;
  for (const char byte : bytes) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

unsigned byte_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

constexpr std::string_view png_signature = "\x89PNG\r\n\x1a\n";
constexpr std::string_view jpeg_signature = "\xff\xd8\xff";

// The first chunk has the size: its length, "IHDR", width, height, bits, colours.
Image read_png(std::string_view bytes) {
  constexpr size_t chunk = 8;
  if (bytes.size() < 33 || bytes.substr(chunk + 4, 4) != "IHDR")
    refuse_image("this PNG file ends in its head");
  const unsigned colours = byte_at(bytes, chunk + 17);
  const bool has_colours = (colours & 2U) != 0;
  const bool has_alpha = (colours & 4U) != 0;
  return {.width = big_endian(bytes.substr(chunk + 8, 4)),
          .height = big_endian(bytes.substr(chunk + 12, 4)),
          .channels = (has_colours ? 3U : 1U) + (has_alpha ? 1U : 0U)};
}

// Segments of a marker and a length, one of which begins the frame: bits, height, width,
// components.
Image read_jpeg(std::string_view bytes) {
  for (size_t at = 2; at + 10 <= bytes.size();) {
    if (byte_at(bytes, at) != 0xFF) refuse_image("this JPEG file is damaged in its head");
    const unsigned marker = byte_at(bytes, at + 1);
    if (marker == 0xFF) {  // fills
      ++at;
      continue;
    }
    const bool begins_tables = marker == 0xC4 || marker == 0xC8 || marker == 0xCC;
    if (marker >= 0xC0 && marker <= 0xCF && !begins_tables)
      return {.width = big_endian(bytes.substr(at + 7, 2)),
              .height = big_endian(bytes.substr(at + 5, 2)),
              .channels = byte_at(bytes, at + 9)};
    at += 2 + big_endian(bytes.substr(at + 2, 2));
  }
  refuse_image("this JPEG file ends in its head");
}

}  // namespace

Image read_image(std::string_view encoded) {
  Image image;
  if (encoded.starts_with(png_signature)) image = read_png(encoded);
  else if (encoded.starts_with(jpeg_signature)) image = read_jpeg(encoded);
  else refuse_image("expected a PNG or JPEG file");
  constexpr uint32_t most = INT32_MAX;
  if (image.width == 0 || image.height == 0 || image.width > most || image.height > most)
    refuse_image("its size is " + std::to_string(image.width) + " x " +
                 std::to_string(image.height));
  image.encoded = encoded;
  return image;
}

}  // namespace det::tensorboard
