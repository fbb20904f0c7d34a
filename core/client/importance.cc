#include "core/client/importance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

namespace det::client {

namespace {

double mean_of(const std::vector<double> &values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// 0 where one of them is always the same.
double correlation(const std::vector<double> &a, const std::vector<double> &b) {
  const double mean_a = mean_of(a);
  const double mean_b = mean_of(b);
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : 0;
}

std::vector<size_t> in_order(const std::vector<double> &values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return values[a] < values[b] || (std::isnan(values[b]) && !std::isnan(values[a]));
  });
  return order;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

constexpr size_t least_leaf = 2;

// What is missing is below all numbers.
double place(double value) {
  return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
}

constexpr int tree_count = 100;
constexpr size_t most_samples = 2000;  // that one tree sees

using Random = std::mt19937_64;

size_t below(Random &random, size_t count) { return static_cast<size_t>(random() % count); }

struct Bag {
  std::vector<size_t> drawn, left_out;
  std::vector<size_t> asked;  // of those left out, at random: what the values are dealt out to
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
  bag.asked = bag.left_out;
  if (bag.asked.size() > most_samples) {
    for (size_t i = 0; i < most_samples; ++i)
      std::swap(bag.asked[i], bag.asked[i + below(random, bag.asked.size() - i)]);
    bag.asked.resize(most_samples);
  }
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
  importance.mean = std::clamp(importance.mean / whole, 0.0, 1.0);
  return importance;
}

}  // namespace

std::vector<double> ranks_of(const std::vector<double> &values) {
  const std::vector<size_t> order = in_order(values);
  std::vector<double> ranks(values.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && same(values[order[end]], values[order[begin]])) ++end;
    const double mean = static_cast<double>(begin + 1 + end) / 2;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = mean;
  }
  return ranks;
}

std::vector<size_t> parts_of(const std::vector<double> &values, size_t wanted) {
  const std::vector<size_t> order = in_order(values);
  std::vector<size_t> part(values.size());
  size_t current = 0;
  size_t last_cut = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t place = i * wanted / order.size();
    if (i > 0 && place > last_cut && !same(values[order[i]], values[order[i - 1]])) {
      ++current;
      last_cut = place;
    }
    part[order[i]] = current;
  }
  return part;
}

double between_parts(const std::vector<double> &metric, const std::vector<size_t> &part) {
  const size_t parts = part.empty() ? 0 : *std::ranges::max_element(part) + 1;
  std::vector<double> sums(parts);
  std::vector<double> counts(parts);
  const double mean = mean_of(metric);
  double all = 0;
  for (size_t i = 0; i < metric.size(); ++i) {
    sums[part[i]] += metric[i] - mean;
    ++counts[part[i]];
    all += (metric[i] - mean) * (metric[i] - mean);
  }
  double between = 0;
  for (size_t i = 0; i < parts; ++i)
    if (counts[i] > 0) between += sums[i] * sums[i] / counts[i];
  return all > 0 ? between / all : 0;
}

Influence influence_of(const std::vector<double> &metric, const std::vector<size_t> &part,
                       const std::vector<double> *ranks) {
  const auto explained = [&](const std::vector<double> &by) {
    const double trend = ranks != nullptr ? correlation(*ranks, by) : 0;
    return std::max(trend * trend, between_parts(by, part));
  };
  Influence found;
  const double seen = explained(metric);
  if (ranks != nullptr) found.trend = correlation(*ranks, metric);

  // Dealt out anew, the metric has nothing to do with the hyperparameter.
  constexpr size_t work = 20'000'000;
  const size_t times = std::clamp<size_t>(work / std::max<size_t>(metric.size(), 1), 99, 1999);
  std::mt19937_64 random;  // from its own seed: the same trials give the same answer
  std::vector<double> dealt = metric;
  size_t as_much = 0;
  for (size_t time = 0; time < times; ++time) {
    for (size_t i = dealt.size(); i > 1; --i) std::swap(dealt[i - 1], dealt[random() % i]);
    if (explained(dealt) >= seen - 1e-12) ++as_much;
  }
  found.p_value = static_cast<double>(as_much + 1) / static_cast<double>(times + 1);
  return found;
}

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

ForestImportance forest_importance(const std::vector<Variable> &variables,
                                   const std::vector<double> &results) {
  if (std::ranges::adjacent_find(results, std::not_equal_to<>()) == results.end())
    return {std::vector<Importance>(variables.size()), 0};
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
      for (size_t at = 0; at < bag.asked.size(); ++at) {
        const size_t sample = bag.asked[at];
        const double miss = tree.predict(sample, permuted, others[at]) - results[sample];
        error += miss * miss;
      }
      return error / static_cast<double>(bag.asked.size());
    };
    for (const size_t sample : bag.left_out) {
      sums[sample] += tree.predict(sample, RegressionTree::none, sample);
      ++times[sample];
    }
    const double before = error_of(RegressionTree::none, bag.asked);
    for (size_t variable = 0; variable < variables.size(); ++variable) {
      std::vector<size_t> others = bag.asked;
      for (size_t at = others.size(); at > 1; --at)
        std::swap(others[at - 1], others[below(random, at)]);
      rises[variable].push_back(error_of(variable, others) - before);
    }
  }
  const double mean = mean_of(results);
  double squares = 0;
  double misses = 0;
  double seen = 0;
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

}  // namespace det::client
