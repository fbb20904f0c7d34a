// The `hyperparameters` of an experiment configuration: a space to draw samples from, or to cover
// with a grid. Names are taken in ascending order of their bytes at every level, which decides
// what is drawn for which name, and the order of a grid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/json.h"
#include "core/search/random.h"

namespace det::search {

struct Hyperparameter;

struct ConstantValue {
  Json value;
};
struct IntegerRange {
  int64_t minimum = 0;
  int64_t maximum = 0;
  std::optional<uint64_t> count;  // of points in a grid
};
struct DoubleRange {
  double minimum = 0;
  double maximum = 0;
  std::optional<uint64_t> count;
};
// `base` to the power of what lies between.
struct LogRange {
  DoubleRange exponent;
  double base = 10;
};
struct Categories {
  std::vector<Json> values;
};
struct HyperparameterGroup {
  std::vector<Hyperparameter> children;  // in ascending order
};
struct Hyperparameter {
  std::string name;
  std::variant<ConstantValue, IntegerRange, DoubleRange, LogRange, Categories, HyperparameterGroup>
      value;
};

// Takes constants in their long form ({"type": "const", "val": 1}) and in their short one (1).
// Throws Code::invalid naming the hyperparameter.
HyperparameterGroup read_hyperparameters(const Json &section);

Json sample(const HyperparameterGroup &space, RandomState &random);

}  // namespace det::search
