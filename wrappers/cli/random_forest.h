// How much each of several variables has to do with a result, by a random forest.
#pragma once

#include <vector>

#include "regression_tree.h"

namespace det::cli {

struct Importance {
  double mean = 0, error = 0;  // the standard error over the trees
};

struct ForestImportance {
  std::vector<Importance> variables;
  double explained = 0;  // the part of the variance that the forest predicts of what it did not see
};

// The permutation importance of Breiman (2001): how much the squared error of the trees, for
// results that they did not see, rises when the values of one variable are dealt out to these at
// random. Half of the rise, as a part of the variance of the results, is the total effect of the
// variable (Jansen's estimate of Sobol's index): from 0 to about 1. What several variables explain
// only together is seen, and counts for each. The same input has the same answer. Not for results
// that are all equal.
ForestImportance forest_importance(const std::vector<Variable> &variables,
                                   const std::vector<double> &results);

}  // namespace det::cli
