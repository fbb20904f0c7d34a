#include "random_forest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace det::cli {

namespace {

constexpr int tree_count = 100;
constexpr size_t least_leaf = 2;
constexpr size_t most_samples = 2000;  // that one tree sees

using Random = std::mt19937_64;

size_t below(Random &random, size_t count) { return static_cast<size_t>(random() % count); }

// A regression tree that splits where the squared error falls most.
class Tree {
 public:
  Tree(const std::vector<Variable> &variables, const std::vector<double> &results,
       std::vector<size_t> samples)
      : variables_(variables), results_(results), samples_(std::move(samples)) {
    grow(0, samples_.size());
  }

  // With the value of `permuted` taken from `other`.
  double predict(size_t sample, size_t permuted, size_t other) const {
    size_t at = 0;
    while (nodes_[at].variable != none) {
      const Node &node = nodes_[at];
      const size_t from = node.variable == permuted ? other : sample;
      at = goes_left(node, variables_[node.variable].values[from]) ? node.left : node.right;
    }
    return nodes_[at].mean;
  }

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

  // What is missing is below all numbers.
  static double place(double value) {
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  }
  static bool goes_left(const Node &node, double value) {
    return node.category ? place(value) == node.split : place(value) <= node.split;
  }

  size_t grow(size_t begin, size_t end) {
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

  void find_split(size_t variable, size_t begin, size_t end, double sum, Split &best) {
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

  double split_after(const std::vector<double> &values, size_t i, size_t end, bool category) const {
    const double here = place(values[samples_[i]]);
    if (category || i + 1 >= end || std::isinf(here)) return here;
    return here / 2 + place(values[samples_[i + 1]]) / 2;
  }

  const std::vector<Variable> &variables_;
  const std::vector<double> &results_;
  std::vector<size_t> samples_;
  std::vector<Node> nodes_;
};

struct Bag {
  std::vector<size_t> drawn, left_out;
};

Bag draw_bag(Random &random, size_t count) {
  Bag bag;
  std::vector<bool> is_drawn(count);
  for (size_t i = 0; i < std::min(count, most_samples); ++i) {
    bag.drawn.push_back(below(random, count));
    is_drawn[bag.drawn.back()] = true;
  }
  for (size_t i = 0; i < count; ++i)
    if (!is_drawn[i]) bag.left_out.push_back(i);
  return bag;
}

// As a part of `whole`.
Importance importance_of(const std::vector<double> &rises, double whole) {
  const auto count = static_cast<double>(rises.size());
  Importance importance;
  importance.mean = std::accumulate(rises.begin(), rises.end(), 0.0) / count;
  double squares = 0;
  for (const double rise : rises) squares += (rise - importance.mean) * (rise - importance.mean);
  importance.error = std::sqrt(squares / std::max(count - 1, 1.0) / count) / whole;
  importance.mean = std::max(importance.mean / whole, 0.0);
  return importance;
}

}  // namespace

ForestImportance forest_importance(const std::vector<Variable> &variables,
                                   const std::vector<double> &results) {
  Random random(1);
  const size_t count = results.size();
  std::vector<std::vector<double>> rises(variables.size());
  std::vector<double> sums(count), times(count);
  for (int i = 0; i < tree_count; ++i) {
    const Bag bag = draw_bag(random, count);
    if (bag.left_out.empty()) continue;
    const Tree tree(variables, results, bag.drawn);
    const auto error_of = [&](size_t permuted, const std::vector<size_t> &others) {
      double error = 0;
      for (size_t at = 0; at < bag.left_out.size(); ++at) {
        const size_t sample = bag.left_out[at];
        const double miss = tree.predict(sample, permuted, others[at]) - results[sample];
        error += miss * miss;
      }
      return error / static_cast<double>(bag.left_out.size());
    };
    for (const size_t sample : bag.left_out) {
      sums[sample] += tree.predict(sample, Tree::none, sample);
      ++times[sample];
    }
    const double before = error_of(Tree::none, bag.left_out);
    for (size_t variable = 0; variable < variables.size(); ++variable) {
      std::vector<size_t> others = bag.left_out;
      for (size_t at = others.size(); at > 1; --at)
        std::swap(others[at - 1], others[below(random, at)]);
      rises[variable].push_back(error_of(variable, others) - before);
    }
  }
  const double mean =
      std::accumulate(results.begin(), results.end(), 0.0) / static_cast<double>(count);
  double squares = 0, misses = 0, seen = 0;
  for (size_t i = 0; i < count; ++i) {
    squares += (results[i] - mean) * (results[i] - mean);
    if (times[i] == 0) continue;
    const double miss = sums[i] / times[i] - results[i];
    misses += miss * miss;
    ++seen;
  }
  const double variance = squares / static_cast<double>(count);
  ForestImportance importance;
  for (const std::vector<double> &each : rises)
    importance.variables.push_back(importance_of(each, 2 * variance));
  importance.explained = 1 - misses / seen / variance;
  return importance;
}

}  // namespace det::cli
