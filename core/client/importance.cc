#include "core/client/importance.h"

#include <algorithm>
#include <cmath>
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
  double by_chance = 0;
  for (size_t time = 0; time < times; ++time) {
    for (size_t i = dealt.size(); i > 1; --i) std::swap(dealt[i - 1], dealt[random() % i]);
    const double chance = explained(dealt);
    by_chance += chance / static_cast<double>(times);
    if (chance >= seen - 1e-12) ++as_much;
  }
  found.p_value = static_cast<double>(as_much + 1) / static_cast<double>(times + 1);
  if (by_chance < 1 - 1e-9) found.importance = std::max(0.0, (seen - by_chance) / (1 - by_chance));
  return found;
}

}  // namespace det::client
