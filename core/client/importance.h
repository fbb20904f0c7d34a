// How much hyperparameters have to do with the metric of their trials.
#pragma once

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace det::client {

struct Variable {
  bool category = false;       // of which only equality counts
  std::vector<double> values;  // one for each result; NaN is a value of its own
};

// A tree of decisions that foretells a number. It splits where the squared error falls most.
class RegressionTree {
 public:
  // Of these `samples`. The others are kept by reference.
  RegressionTree(const std::vector<Variable> &variables, const std::vector<double> &results,
                 std::vector<size_t> samples)
      : variables_(variables), results_(results), samples_(std::move(samples)) {
    grow(0, samples_.size());
  }

  // With the value of the variable `permuted` taken from the sample `other`.
  double predict(size_t sample, size_t permuted, size_t other) const;

  static constexpr size_t none = std::numeric_limits<size_t>::max();

 private:
  struct Node {
    size_t variable = none, left = 0, right = 0;
    double split = 0, mean = 0;
    bool category = false;
  };
  struct Split {
    double gain = 1e-12;
    size_t variable = none;
    double at = 0;
  };

  static bool goes_left(const Node &node, double value);
  size_t grow(size_t begin, size_t end);
  void find_split(size_t variable, size_t begin, size_t end, double sum, Split &best);
  double split_after(const std::vector<double> &values, size_t i, size_t end, bool category) const;

  const std::vector<Variable> &variables_;
  const std::vector<double> &results_;
  std::vector<size_t> samples_;
  std::vector<Node> nodes_;
};

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
// variable (Jansen's estimate of Sobol's index), from 0 to 1. What several variables explain
// only together is seen, and counts for each. The same input has the same answer. All is 0 for
// results that are all equal.
ForestImportance forest_importance(const std::vector<Variable> &variables,
                                   const std::vector<double> &results);

// A hyperparameter by itself and the metric over trials: one element each for a trial.
struct Influence {
  // How often chance alone explains as much of the differences in the metric's ranks.
  double p_value = 1;
  // Spearman's correlation of a number with the metric.
  double trend = 0;
};

// Numbers from 1 on in the order of `values`; equal ones share the mean of theirs. NaN is last.
std::vector<double> ranks_of(const std::vector<double> &values);

// The place of each value when values are cut into at most `wanted` parts of about as many trials;
// equal values stay together.
std::vector<size_t> parts_of(const std::vector<double> &values, size_t wanted);

// `metric`: ranks. `part`: which trials have like values. The part of the variance of `metric` that
// lies between the parts: the squared correlation ratio.
double between_parts(const std::vector<double> &metric, const std::vector<size_t> &part);

// Of texts: `part` has a number for each text. Of numbers: also their `ranks`; what explains more
// counts, the trend or the parts, so that a best value in the middle is seen as well.
Influence influence_of(const std::vector<double> &metric, const std::vector<size_t> &part,
                       const std::vector<double> *ranks);

}  // namespace det::client
