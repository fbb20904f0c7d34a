// Reads the digits of examples/data as records with a feature "image".
#pragma once

#include <det/nn.hpp>
#include <fstream>
#include <sstream>

#ifndef DIGITS_CSV
#define DIGITS_CSV "../data/digits.csv"
#endif

// Returns every fifth image of the file, or all others.
inline det::nn::Batch read_digits(bool to_test_on) {
  std::ifstream file(DIGITS_CSV);
  std::vector<float> pixels;
  std::vector<int32_t> labels;
  std::string line;
  for (int number = 0; std::getline(file, line); ++number) {
    if ((number % 5 == 0) != to_test_on) continue;
    std::istringstream fields(line);
    std::string field;
    for (int i = 0; i < 64 && std::getline(fields, field, ','); ++i)
      pixels.push_back(std::stof(field) / 16);
    std::getline(fields, field);
    labels.push_back(std::stoi(field));
  }
  if (labels.empty())
    throw std::runtime_error("reading '" DIGITS_CSV "': there are no images in it");
  const auto images = static_cast<int64_t>(labels.size());
  return det::nn::Batch::of({{"image", det::nn::Array(std::move(pixels), {images, 8, 8, 1})}},
                            std::move(labels));
}
