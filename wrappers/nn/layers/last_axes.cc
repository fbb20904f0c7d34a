#include "wrappers/nn/layers/last_axes.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::nn {

Shape axes_field(Fields &fields, const Json &usual, const char *key) {
  const Json &given = fields.any(key, usual);
  if (given.is_null()) return {};
  Shape axes;
  for (const Json &axis : given.is_array() ? given : Json::array({given})) {
    if (!axis.is_number_integer())
      throw Error(Code::invalid, "reading " + fields.where() + ": '" + key +
                                     "' must be a whole number or several, not " + to_wire(given));
    axes.push_back(axis.get<int64_t>());
  }
  return axes;
}

LastAxes::LastAxes(const Shape &shape, const Shape &axes, const std::string &what)
    : shape_(shape), count_(axes.size()) {
  std::vector<size_t> last;
  for (const int64_t given : axes) {
    const size_t axis = axis_of(shape, given, what);
    const std::string described =
        what + " with an input of " + text_of(shape) + ": its 'axis' " + std::to_string(given);
    if (axis == 0) throw Error(Code::invalid, described + " is that of the batch");
    if (std::count(last.begin(), last.end(), axis) > 0)
      throw Error(Code::invalid, described + " is named twice");
    last.push_back(axis);
  }
  std::sort(last.begin(), last.end());
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (std::count(last.begin(), last.end(), axis) == 0) order_.push_back(axis);
  order_.insert(order_.end(), last.begin(), last.end());
}

Shape LastAxes::sizes() const {
  const Shape all = permuted();
  return {all.end() - static_cast<std::ptrdiff_t>(count_), all.end()};
}

Value LastAxes::put_last(ProgramBuilder &builder, Value x) const {
  if (!is_in_order()) x = builder.add(TransposeOp{order_}, {x});
  if (count_ == 1) return x;
  Shape joined = permuted();
  joined.resize(joined.size() - count_);
  joined.push_back(elements_of(sizes()));
  return builder.add(ReshapeOp{joined}, {x});
}

Value LastAxes::put_back(ProgramBuilder &builder, Value y) const {
  if (count_ != 1) y = builder.add(ReshapeOp{permuted()}, {y});
  if (is_in_order()) return y;
  std::vector<size_t> back(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) back[order_[i]] = i;
  return builder.add(TransposeOp{back}, {y});
}

bool LastAxes::is_in_order() const { return std::is_sorted(order_.begin(), order_.end()); }

Shape LastAxes::permuted() const {
  Shape sizes;
  for (const size_t axis : order_) sizes.push_back(shape_[axis]);
  return sizes;
}

}  // namespace det::nn
