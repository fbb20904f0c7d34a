#include "core/config/experiment/suggestion.h"

#include <algorithm>
#include <array>
#include <cstdint>
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

namespace {

struct OldKey {
  const char *path, *key, *now;
  bool in_steps;  // it counted steps, now it is a length
};

constexpr std::array old_keys = {
    OldKey{"", "batches_per_step", "scheduling_unit", false},
    OldKey{"", "min_validation_period", "min_validation_period", true},
    OldKey{"", "min_checkpoint_period", "min_checkpoint_period", true},
    OldKey{".searcher", "max_steps", "max_length", true},
    OldKey{".searcher", "target_trial_steps", "max_length", true},
    OldKey{".searcher", "step_budget", "budget", true},
    OldKey{".searcher", "steps_per_round", "length_per_round", true},
};

}  // namespace

std::string hint_for_old_key(const std::string &path, const std::string &key, const Json &value) {
  const auto *old = std::find_if(old_keys.begin(), old_keys.end(), [&](const OldKey &entry) {
    return path == entry.path && key == entry.key;
  });
  constexpr int64_t most_steps = INT64_MAX / 100;
  if (old == old_keys.end()) return "";
  const std::string now = old->now;
  if (!old->in_steps) return "'" + now + "' took its place in release 0.13";
  if (!value.is_number_integer() || value < 0 || value > most_steps) return "";
  return "releases before 0.13 counted steps here, of 100 batches or what 'batches_per_step' said; "
         "write '" +
         now + ": {batches: " + std::to_string(value.get<int64_t>() * 100) + "}'";
}

}  // namespace det::config
