#include "random_forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace det::cli {

namespace {

constexpr int tree_count = 100;
constexpr size_t most_samples = 2000;  // that one tree sees

using Random = std::mt19937_64;

size_t below(Random &random, size_t count) { return static_cast<size_t>(random() % count); }

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
    const RegressionTree tree(variables, results, bag.drawn);
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
      sums[sample] += tree.predict(sample, RegressionTree::none, sample);
      ++times[sample];
    }
    const double before = error_of(RegressionTree::none, bag.left_out);
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
