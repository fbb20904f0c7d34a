#include "tests/nn/recorded/fixture.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/half.h"
#include "core/tensors/header.h"
#include "tests/cmocka.h"

namespace det::test {

Fixture::Fixture(const std::string &name) : name_(name) {
  const std::string path = TEST_DATA "/nn/" + name;
  cases_ = parse_json(read_file(path + ".json"), name);
  if (!std::filesystem::exists(path + ".safetensors")) return;
  const std::string bytes = read_file(path + ".safetensors");
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const size_t begin = sizeof length + length;
  const tensors::Header header =
      tensors::parse_header({bytes.data() + sizeof length, length}, bytes.size() - begin, name);
  for (const tensors::StoredTensor &tensor : header.tensors) {
    const nn::Array array({nn::Shape(tensor.shape.begin(), tensor.shape.end()), tensor.dtype});
    std::memcpy(array.raw(), bytes.data() + begin + tensor.begin, tensor.end - tensor.begin);
    arrays_.emplace(tensor.name, array);
  }
}

const nn::Array &Fixture::operator[](const std::string &array) const {
  const auto found = arrays_.find(array);
  if (found == arrays_.end())
    throw Error(Code::not_found, name_ + ".safetensors has no '" + array + "'");
  return found->second;
}

void Fixture::for_each(const Run &run, const std::vector<std::string> &skipped) const {
  size_t passed = 0;
  std::vector<std::string> left_out, failed;
  for (const Json &about : cases_) {
    const auto name = about["name"].get<std::string>();
    if (std::find(skipped.begin(), skipped.end(), name) != skipped.end()) {
      left_out.push_back(name);
      continue;
    }
    try {
      run(about, name);
      ++passed;
    } catch (const Error &error) {
      if (error.code == Code::unsupported) left_out.push_back(name + " (" + error.what() + ")");
      else failed.push_back(name + ": " + error.what());
    }
  }
  for (const std::string &one : left_out)
    print_message("# SKIP %s: %s\n", name_.c_str(), one.c_str());
  for (const std::string &one : failed) print_error("%s: %s\n", name_.c_str(), one.c_str());
  print_message("# %s: %zu cases agree, %zu are left out, %zu fail\n", name_.c_str(), passed,
                left_out.size(), failed.size());
  assert_int_equal(failed.size(), 0);
}

bool are_of(const nn::Array &array, nn::Dtype precision) {
  const auto numbers = array.elements();
  return std::all_of(numbers.begin(), numbers.end(), [&](float number) {
    return number ==
           (precision == nn::Dtype::f16 ? from_half(to_half(number)) : from_bf16(to_bf16(number)));
  });
}

nn::Array part_of(const nn::Array &array, size_t index) {
  nn::ArrayType type = array.type();
  type.shape.erase(type.shape.begin());
  return {type, array, index * nn::bytes_of(type)};
}

void expect_recorded(const nn::Array &got, const nn::Array &expected, double tolerance,
                     const std::string &what) {
  if (got.shape() != expected.shape())
    throw Error(Code::internal, what + " has the shape " + nn::text_of(got.shape()) + ", not " +
                                    nn::text_of(expected.shape()));
  const auto values = got.elements();
  const auto wanted = expected.elements();
  double largest = 1;
  for (const float one : wanted) largest = std::max(largest, std::fabs(static_cast<double>(one)));
  for (size_t i = 0; i < values.size(); ++i)
    expect_recorded(static_cast<double>(values[i]), static_cast<double>(wanted[i]),
                    tolerance * largest, what + "[" + std::to_string(i) + "]");
}

void expect_recorded(const nn::Array &got, const nn::Array &expected, nn::Dtype precision,
                     const std::string &what) {
  expect_recorded(got, expected, precision == nn::Dtype::f16 ? 3 * 0x1p-10 : 3 * 0x1p-7, what);
  if (are_of(expected, precision) && !are_of(got, precision))
    throw Error(Code::internal, what + " has numbers that are not of 16 bits");
}

void expect_recorded(double got, double expected, double tolerance, const std::string &what) {
  if (!(std::fabs(got - expected) <= tolerance)) {
    char text[80];
    std::snprintf(text, sizeof text, " is %.9g, not %.9g", got, expected);
    throw Error(Code::internal, what + text);
  }
}

}  // namespace det::test
