// A grid over the hyperparameters of an experiment.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/search/hyperparameters.h"

namespace det::search {

// The points are counted, not stored. Axes are in the order of their names, and the last one varies
// fastest.
class Grid {
 public:
  // Whether a group without children is an axis with one value, {}, or left out.
  enum class EmptyGroups { left_out, kept };

  // Throws Code::invalid for a range without a count, and where there is nothing to vary.
  Grid(HyperparameterGroup space, EmptyGroups empty_groups);

  uint64_t size() const { return size_; }
  Json point(uint64_t index) const;

 private:
  struct Axis {
    uint64_t count = 1;
    uint64_t stride = 1;  // so many points have the same value in a row
  };

  void add_axes(const HyperparameterGroup &group, const std::string &path);
  Json group_at(const HyperparameterGroup &group, uint64_t index, size_t &axis) const;

  HyperparameterGroup space_;
  EmptyGroups empty_groups_;
  std::vector<Axis> axes_;
  uint64_t size_ = 1;
};

}  // namespace det::search
