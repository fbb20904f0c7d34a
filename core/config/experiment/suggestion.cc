#include "core/config/experiment/suggestion.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace det::config {

namespace {

// Letters to insert, leave out or replace, from one word to the other (Levenshtein).
size_t distance(const std::string &from, const std::string &to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 0; j < to.size(); ++j) {
      const size_t replaced = corner + (from[i] == to[j] ? 0 : 1);
      corner = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, corner + 1});
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
