// What came of a search, as figures.
#pragma once

#include "figure.h"
#include "search_results.h"

namespace det::cli {

Parallel parallel_of(const Search &search);
Panels slices_of(const Search &search);

// How important each hyperparameter is, by forest_importance() of the ranks of the metric. Throws
// Failure (state) for fewer than ten trials.
Bars importance_of(const Search &search);

}  // namespace det::cli
