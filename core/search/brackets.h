// How much of a search goes where: the lengths of the rungs of one successive halving, and the
// halvings ("brackets") that adaptive_asha runs side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "core/search/settings.h"

namespace det::search {

// One successive halving.
struct Bracket {
  uint64_t max_trials = 1;
  uint64_t max_concurrent_trials = 0;  // 0: as many as the lowest rung needs for one at the top
  double divisor = 4;
  std::vector<uint64_t> lengths;  // of its rungs, from the bottom
};

// How many rungs there can be, each with a `divisor`th of the one below, down to one.
uint64_t rungs_worth(uint64_t amount, double divisor);

std::vector<uint64_t> rung_lengths(uint64_t num_rungs, uint64_t max_length, double divisor);

// Of async_halving, which is one, and of adaptive_asha, the one that stops trials earliest first.
std::vector<Bracket> brackets(const SearchSettings &settings);

// The natural logarithm in the classic formula, whose last bits decide how many rungs there are: it
// is exact for powers, ln 3^5 / ln 3 = 5, which the C library's is not.
double natural_logarithm(double x);

}  // namespace det::search
