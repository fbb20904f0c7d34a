// PNG files without compression: then all they need is two checksums.
#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/tensorboard/image.h"

namespace det::tensorboard {

namespace {

void append_big_endian(std::string &out, uint32_t number) {
  for (unsigned shift = 32; shift > 0; shift -= 8)
    out += static_cast<char>(number >> (shift - 8) & 0xFFU);
}

constexpr auto crc_table = [] {
  std::array<uint32_t, 256> made{};
  for (uint32_t byte = 0; byte < made.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0);
    made[byte] = crc;
  }
  return made;
}();

uint32_t crc32(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = (crc >> 8U) ^ crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xFFU];
  return ~crc;
}

uint32_t adler32(std::string_view bytes) {
  constexpr uint32_t modulus = 65521;
  constexpr size_t before_overflow = 5552;
  uint32_t low = 1, high = 0;
  while (!bytes.empty()) {
    for (const char byte : bytes.substr(0, before_overflow)) {
      low += static_cast<unsigned char>(byte);
      high += low;
    }
    low %= modulus;
    high %= modulus;
    bytes.remove_prefix(std::min(bytes.size(), before_overflow));
  }
  return high << 16U | low;
}

void append_chunk(std::string &png, const char *type, std::string_view data) {
  append_big_endian(png, static_cast<uint32_t>(data.size()));
  const size_t begin = png.size();
  png += type;
  png += data;
  append_big_endian(png, crc32(std::string_view(png).substr(begin)));
}

// The rows, each behind a 0: as they are.
std::string unfiltered(const Pixels &pixels) {
  const auto row = static_cast<size_t>(pixels.width * pixels.channels);
  std::string rows;
  rows.reserve((row + 1) * static_cast<size_t>(pixels.height));
  for (int64_t y = 0; y < pixels.height; ++y) {
    rows += '\0';
    rows.append(reinterpret_cast<const char *>(pixels.first) + row * static_cast<size_t>(y), row);
  }
  return rows;
}

// In the form of zlib, in stored blocks: whether it is the last one, the length, its complement.
std::string stored(std::string_view bytes) {
  constexpr size_t most = 65535;
  std::string out = "\x78\x01";
  out.reserve(bytes.size() + (bytes.size() / most + 1) * 5 + 6);
  std::string_view rest = bytes;
  do {
    const std::string_view block = rest.substr(0, most);
    rest.remove_prefix(block.size());
    out += rest.empty() ? '\1' : '\0';
    for (const size_t length : {block.size(), ~block.size()}) {
      out += static_cast<char>(length & 0xFFU);
      out += static_cast<char>(length >> 8U & 0xFFU);
    }
    out += block;
  } while (!rest.empty());
  append_big_endian(out, adler32(bytes));
  return out;
}

}  // namespace

Image encode_png(const Pixels &pixels, int64_t most) {
  const auto [first, width, height, channels] = pixels;
  if (channels < 1 || channels > 4)
    throw Error(Code::invalid, "adding an image: " + std::to_string(channels) +
                                   " channels; give 1 (grey), 2 (grey and alpha), 3 (RGB) or 4 "
                                   "(RGBA)");
  // Divided, since a product might overflow.
  if (width < 1 || height < 1 || width > most || height > most / channels / width)
    throw Error(Code::invalid, "adding an image: " + std::to_string(width) + " x " +
                                   std::to_string(height) + " pixels; give at least one, and " +
                                   std::to_string(most) + " bytes of them at most");
  static constexpr std::array<char, 5> colours{0, 0, 4, 2, 6};  // by channels
  std::string head;
  append_big_endian(head, static_cast<uint32_t>(width));
  append_big_endian(head, static_cast<uint32_t>(height));
  head += {8, colours[static_cast<size_t>(channels)], 0, 0, 0};
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", head);
  append_chunk(png, "IDAT", stored(unfiltered(pixels)));
  append_chunk(png, "IEND", "");
  return {.width = static_cast<uint32_t>(width),
          .height = static_cast<uint32_t>(height),
          .channels = static_cast<uint32_t>(channels),
          .encoded = std::move(png)};
}

}  // namespace det::tensorboard
