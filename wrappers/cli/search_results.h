// What came of the trials of a search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "axis.h"
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

}  // namespace det::cli
