// What came of a search, as figures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "figure.h"
#include "library_client.h"

namespace det::cli {

struct SearchedTrial {
  int64_t id = 0;
  double metric = 0;           // finite
  std::vector<double> values;  // of the dimensions; NaN for a hyperparameter that it does not have
};

// The trials with a finite value of the searcher's metric, the best first, and the hyperparameters
// that vary among them: on a log scale where the configuration draws them so.
struct Search {
  int64_t experiment = 0;
  std::string name;
  Dimension metric;
  bool smaller_is_better = true;
  std::vector<Dimension> dimensions;
  std::vector<SearchedTrial> trials;
};

// Reads all trials. Throws Failure: of the state, where no trial has a value or nothing varies.
Search read_search(Client &client, int64_t experiment);

Parallel parallel_of(const Search &search);
Panels slices_of(const Search &search);

// How important each hyperparameter is, by forest_importance() of the ranks of the metric. Throws
// Failure (state) for fewer than ten trials.
Bars importance_of(const Search &search);

}  // namespace det::cli
