#include "regression_tree.h"

#include <algorithm>
#include <cmath>

namespace det::cli {

namespace {

constexpr size_t least_leaf = 2;

// What is missing is below all numbers.
double place(double value) {
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

}  // namespace

double RegressionTree::predict(size_t sample, size_t permuted, size_t other) const {
  size_t at = 0;
  while (nodes_[at].variable != none) {
    const Node &node = nodes_[at];
    const size_t from = node.variable == permuted ? other : sample;
    at = goes_left(node, variables_[node.variable].values[from]) ? node.left : node.right;
  }
  return nodes_[at].mean;
}

bool RegressionTree::goes_left(const Node &node, double value) {
  return node.category ? place(value) == node.split : place(value) <= node.split;
}

size_t RegressionTree::grow(size_t begin, size_t end) {
  const size_t index = nodes_.size();
  nodes_.emplace_back();
  double sum = 0;
  for (size_t i = begin; i < end; ++i) sum += results_[samples_[i]];
  nodes_[index].mean = sum / static_cast<double>(end - begin);
  Split best;
  for (size_t variable = 0; variable < variables_.size(); ++variable)
    find_split(variable, begin, end, sum, best);
  if (best.variable == none) return index;
  Node node{best.variable, 0, 0, best.at, nodes_[index].mean, variables_[best.variable].category};
  const auto middle = std::partition(
      samples_.begin() + static_cast<std::ptrdiff_t>(begin),
      samples_.begin() + static_cast<std::ptrdiff_t>(end),
      [&](size_t sample) { return goes_left(node, variables_[best.variable].values[sample]); });
  const auto cut = static_cast<size_t>(middle - samples_.begin());
  node.left = grow(begin, cut);
  node.right = grow(cut, end);
  nodes_[index] = node;
  return index;
}

void RegressionTree::find_split(size_t variable, size_t begin, size_t end, double sum,
                                Split &best) {
  const std::vector<double> &values = variables_[variable].values;
  const bool category = variables_[variable].category;
  std::sort(samples_.begin() + static_cast<std::ptrdiff_t>(begin),
            samples_.begin() + static_cast<std::ptrdiff_t>(end),
            [&](size_t a, size_t b) { return place(values[a]) < place(values[b]); });
  const size_t count = end - begin;
  double left_sum = 0;
  size_t left = 0;
  for (size_t i = begin; i + 1 <= end; ++i) {
    left_sum += results_[samples_[i]];
    ++left;
    const double here = place(values[samples_[i]]);
    if (i + 1 < end && place(values[samples_[i + 1]]) == here) continue;
    if (left >= least_leaf && count - left >= least_leaf) {
      const double right_sum = sum - left_sum;
      const double gain = left_sum * left_sum / static_cast<double>(left) +
                          right_sum * right_sum / static_cast<double>(count - left) -
                          sum * sum / static_cast<double>(count);
      if (gain > best.gain) best = {gain, variable, split_after(values, i, end, category)};
    }
    if (category) left_sum = 0, left = 0;  // each value against all others
  }
}

double RegressionTree::split_after(const std::vector<double> &values, size_t i, size_t end,
                                   bool category) const {
  const double here = place(values[samples_[i]]);
  if (category || i + 1 >= end || std::isinf(here)) return here;
  return here / 2 + place(values[samples_[i + 1]]) / 2;
}

}  // namespace det::cli
