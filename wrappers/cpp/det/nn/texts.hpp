// Arrays of texts: bytes of one width, padded with zeros.
#pragma once

#include <det/nn/array.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace det {
inline namespace v1 {
namespace nn {

// Texts in UTF-8 as numbers of 8 bits, {texts, width}. With a shape {records, texts of a record} it
// is {records, texts of a record, width}. The default width is that of the longest text. Arrays
// that are put side by side need the same width. Throws std::invalid_argument if the shape has
// another number of texts. It also does so if a text is longer than the width, or contains a zero.
[[nodiscard]] inline Array texts(const std::vector<std::string> &values, size_t width = 0,
                                 Shape shape = {}) {
  const auto refuse = [](const std::string &why) {
    throw std::invalid_argument("making an array of texts: " + why);
  };
  size_t longest = 1;
  for (const std::string &text : values) longest = std::max(longest, text.size());
  if (width == 0) width = longest;
  if (longest > width)
    refuse("one has " + std::to_string(longest) + " bytes, and its width is " +
           std::to_string(width));
  if (!values.empty() && width > std::vector<uint8_t>().max_size() / values.size())
    refuse("they are " + std::to_string(values.size()) + ", and a width of " +
           std::to_string(width) + " is more than memory has for each");
  std::vector<uint8_t> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].find('\0') != std::string::npos) refuse("one has a zero in it");
    std::copy(values[i].begin(), values[i].end(), &bytes[i * width]);
  }
  if (shape.empty()) shape = {static_cast<int64_t>(values.size())};
  shape.push_back(static_cast<int64_t>(width));
  return Array(std::move(bytes), std::move(shape)).marked_as_texts();
}

// The texts of such an array. They are valid as long as the array.
[[nodiscard]] inline std::vector<std::string_view> texts_of(const Array &array) {
  const auto *bytes = reinterpret_cast<const char *>(array.data<uint8_t>());
  const auto width = static_cast<size_t>(array.shape().back());
  std::vector<std::string_view> texts;
  if (width == 0) return texts;
  for (size_t place = 0; place < array.elements(); place += width) {
    const std::string_view filled(bytes + place, width);
    texts.push_back(filled.substr(0, filled.find('\0')));
  }
  return texts;
}

}  // namespace nn
}  // namespace v1
}  // namespace det
