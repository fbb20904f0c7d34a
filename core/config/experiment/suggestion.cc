#include "core/config/experiment/suggestion.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace det::config {

namespace {

// Letters to insert, leave out, replace, or swap with the next, from one word to the other
// (optimal string alignment).
size_t distance(const std::string &from, const std::string &to) {
  std::vector<size_t> before, above, row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = above[j] + (from[i] == to[j] ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j])
        row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t best_distance = std::min<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    const size_t longer = std::max(word.size(), candidate.size());
    if (longer - std::min(word.size(), candidate.size()) >= best_distance) continue;
    const size_t apart = distance(word, candidate);
    if (apart >= best_distance) continue;
    best = candidate;
    best_distance = apart;
  }
  return best;
}

}  // namespace det::config
