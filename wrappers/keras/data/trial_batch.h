// Batches of a trial.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wrappers/nn/model/model.h"

namespace det::keras {

// With what its program says of it.
struct TrialBatch : nn::Batch {
  std::vector<std::string> input_names;    // none, or one for each input
  std::vector<double> weights_of_classes;  // none, or one for each class
};

// By their names.
using Metrics = std::map<std::string, double>;

}  // namespace det::keras
