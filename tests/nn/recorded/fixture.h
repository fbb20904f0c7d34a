// What TensorFlow computed: cases and their arrays, of tests/data/nn (README there).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "wrappers/nn/arrays/array.h"

namespace det::test {

class Fixture {
 public:
  // "losses/values"
  explicit Fixture(const std::string &name);

  const Json &cases() const { return cases_; }
  bool has(const std::string &array) const { return arrays_.contains(array); }
  const nn::Array &operator[](const std::string &array) const;

  // Calls `run` with each case. What Code::unsupported is thrown of, or is named in `skipped`, is
  // said loudly and left out; fails, with the names of all of them, where others throw or differ.
  using Run = std::function<void(const Json &about, const std::string &name)>;
  void for_each(const Run &run, const std::vector<std::string> &skipped = {}) const;

 private:
  const std::string name_;
  Json cases_;
  std::map<std::string, nn::Array> arrays_;
};

// Whether all numbers are of a type of 16 bits.
bool are_of(const nn::Array &array, nn::Dtype precision);

// Part `index` of an array whose first axis is that of steps or batches.
nn::Array part_of(const nn::Array &array, size_t index);

// Throws, with the first number that differs, unless all of them are within `tolerance` of the
// largest that is expected (or of 1, where that is smaller).
void expect_recorded(const nn::Array &got, const nn::Array &expected, double tolerance,
                     const std::string &what);
// Likewise of numbers that were computed in 16 bits, which are of that type where those are that
// are expected. They may be off by three of its last places: Keras rounds after each of its
// operations, of which there are more than of ours.
void expect_recorded(const nn::Array &got, const nn::Array &expected, nn::Dtype precision,
                     const std::string &what);
void expect_recorded(double got, double expected, double tolerance, const std::string &what);

}  // namespace det::test
