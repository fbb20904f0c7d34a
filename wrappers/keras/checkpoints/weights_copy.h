// The weights of a model as they were at some time.
#pragma once

#include <filesystem>
#include <vector>

struct det_nn_model;

namespace det::keras {

class WeightsCopy {
 public:
  explicit WeightsCopy(det_nn_model &model);
  // Of the file that save() wrote.
  static WeightsCopy load(det_nn_model &model, const std::filesystem::path &path);

  // Into the model that it is of.
  void restore(det_nn_model &model) const;
  // Through the model, whose weights are then what they were.
  void save(det_nn_model &model, const std::filesystem::path &path) const;

 private:
  std::vector<float> numbers_;
};

}  // namespace det::keras
