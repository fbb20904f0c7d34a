// A tree of decisions that foretells a number.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace det::cli {

struct Variable {
  bool category = false;       // of which only equality counts
  std::vector<double> values;  // one for each result; NaN is a value of its own
};

// It splits where the squared error falls most.
class RegressionTree {
 public:
  // Of these `samples`. The others are kept by reference.
  RegressionTree(const std::vector<Variable> &variables, const std::vector<double> &results,
                 std::vector<size_t> samples)
      : variables_(variables), results_(results), samples_(std::move(samples)) {
    grow(0, samples_.size());
  }

  // With the value of the variable `permuted` taken from the sample `other`.
  double predict(size_t sample, size_t permuted, size_t other) const;

  static constexpr size_t none = std::numeric_limits<size_t>::max();

 private:
  struct Node {
    size_t variable = none, left = 0, right = 0;
    double split = 0, mean = 0;
    bool category = false;
  };
  struct Split {
    double gain = 1e-12;
    size_t variable = none;
    double at = 0;
  };

  static bool goes_left(const Node &node, double value);
  size_t grow(size_t begin, size_t end);
  void find_split(size_t variable, size_t begin, size_t end, double sum, Split &best);
  double split_after(const std::vector<double> &values, size_t i, size_t end, bool category) const;

  const std::vector<Variable> &variables_;
  const std::vector<double> &results_;
  std::vector<size_t> samples_;
  std::vector<Node> nodes_;
};

}  // namespace det::cli
