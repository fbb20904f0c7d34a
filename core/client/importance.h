// How much one hyperparameter has to do with the metric, from few trials and without a model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace det::client {

// A hyperparameter and the metric over trials: one element each for a trial.
struct Influence {
  // How much of the differences in the metric's ranks the hyperparameter explains, from 0 to 1,
  // less what chance explains.
  double importance = 0;
  // How often chance alone explains as much.
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
