#include "core/search/grid.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "core/base/error.h"

namespace det::search {

namespace {

constexpr uint64_t most_points = uint64_t{1} << 53U;

double spread(const DoubleRange &range, uint64_t count, uint64_t i) {
  if (count == 1) return (range.minimum + range.maximum) / 2;
  return range.minimum +
         static_cast<double>(i) * (range.maximum - range.minimum) / static_cast<double>(count - 1);
}

// How many values an axis has; nothing where a count is needed and missing.
struct Count {
  std::optional<uint64_t> operator()(const ConstantValue &) const { return 1; }
  std::optional<uint64_t> operator()(const IntegerRange &range) const {
    if (!range.count) return std::nullopt;
    return std::min(*range.count, static_cast<uint64_t>(range.maximum - range.minimum) + 1);
  }
  std::optional<uint64_t> operator()(const DoubleRange &range) const { return range.count; }
  std::optional<uint64_t> operator()(const LogRange &range) const { return range.exponent.count; }
  std::optional<uint64_t> operator()(const Categories &categories) const {
    return categories.values.size();
  }
  std::optional<uint64_t> operator()(const HyperparameterGroup &) const { return 1; }
};

// The i-th of `count` values.
struct Value {
  uint64_t count;
  uint64_t i;

  Json operator()(const ConstantValue &constant) const { return constant.value; }
  Json operator()(const IntegerRange &range) const {
    const DoubleRange bounds{static_cast<double>(range.minimum), static_cast<double>(range.maximum),
                             std::nullopt};
    return static_cast<int64_t>(std::round(spread(bounds, count, i)));
  }
  Json operator()(const DoubleRange &range) const { return spread(range, count, i); }
  Json operator()(const LogRange &range) const {
    return std::pow(range.base, spread(range.exponent, count, i));
  }
  Json operator()(const Categories &categories) const { return categories.values[i]; }
  Json operator()(const HyperparameterGroup &) const { return Json::object(); }
};

}  // namespace

Grid::Grid(HyperparameterGroup space, EmptyGroups empty_groups)
    : space_(std::move(space)), empty_groups_(empty_groups) {
  add_axes(space_, "hyperparameters");
  if (axes_.empty())
    throw Error(Code::invalid,
                "reading the configuration: searcher.name is grid, but hyperparameters has nothing "
                "to make a grid of; add one, or take the searcher single");
  for (size_t axis = axes_.size(); axis-- > 0;) {
    axes_[axis].stride = size_;
    if (axes_[axis].count > most_points / size_)
      throw Error(Code::invalid,
                  "reading the configuration: the grid over hyperparameters has more than 2^53 "
                  "points; lower some count");
    size_ *= axes_[axis].count;
  }
}

void Grid::add_axes(const HyperparameterGroup &group, const std::string &path) {
  for (const Hyperparameter &child : group.children) {
    const std::string child_path = path + "." + child.name;
    const auto *nested = std::get_if<HyperparameterGroup>(&child.value);
    if (nested != nullptr && !nested->children.empty()) {
      add_axes(*nested, child_path);
    } else if (nested == nullptr || empty_groups_ == EmptyGroups::kept) {
      const auto count = std::visit(Count{}, child.value);
      if (!count)
        throw Error(Code::invalid, "reading the configuration: " + child_path +
                                       ": searcher.name is grid, so give a count of points");
      axes_.push_back({*count, 1});
    }
  }
}

Json Grid::point(uint64_t index) const {
  size_t axis = 0;
  return group_at(space_, index, axis);
}

Json Grid::group_at(const HyperparameterGroup &group, uint64_t index, size_t &axis) const {
  Json values = Json::object();
  for (const Hyperparameter &child : group.children) {
    const auto *nested = std::get_if<HyperparameterGroup>(&child.value);
    if (nested != nullptr && !nested->children.empty()) {
      Json inner = group_at(*nested, index, axis);
      if (!inner.empty()) values[child.name] = std::move(inner);
    } else if (nested == nullptr || empty_groups_ == EmptyGroups::kept) {
      const Axis &at = axes_[axis++];
      values[child.name] = std::visit(Value{at.count, index / at.stride % at.count}, child.value);
    }
  }
  return values;
}

}  // namespace det::search
