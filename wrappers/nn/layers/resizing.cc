#include "wrappers/nn/layers/resizing.h"

#include <algorithm>
#include <limits>

#include "core/base/error.h"
#include "wrappers/nn/layers/window_fields.h"

namespace det::nn {

namespace {

[[noreturn]] void refuse_edges(const Fields &fields, const char *key, const Json &value) {
  throw Error(Code::invalid, "reading " + fields.where() + ": '" + key +
                                 "' must be a whole number of 0 or more, or two for each "
                                 "dimension, not " +
                                 to_wire(value));
}

// [before, after] of each dimension: of 2, [1, 2] or [[1, 2], [3, 4]]. As Keras has it, of two
// dimensions [1, 2] is one number for each.
std::vector<std::array<int64_t, 2>> edges_of(Fields &fields, const char *key, size_t dimensions) {
  const Json &given = fields.any(key, 1);
  const auto size_of = [&](const Json &size) {
    if (!size.is_number_integer() || size.get<int64_t>() < 0 ||
        size.get<int64_t>() > std::numeric_limits<int32_t>::max())
      refuse_edges(fields, key, given);
    return size.get<int64_t>();
  };
  const auto pair_of = [&](const Json &pair) -> std::array<int64_t, 2> {
    if (!pair.is_array()) return {size_of(pair), size_of(pair)};
    if (pair.size() != 2) refuse_edges(fields, key, given);
    return {size_of(pair[0]), size_of(pair[1])};
  };
  if (dimensions == 1) return {pair_of(given)};
  if (!given.is_array()) return {pair_of(given), pair_of(given)};
  if (given.size() != 2) refuse_edges(fields, key, given);
  return {pair_of(given[0]), pair_of(given[1])};
}

}  // namespace

EdgesLayer::EdgesLayer(Fields &fields, Kind kind, size_t dimensions)
    : Layer(fields), before_(dimensions + 2), after_(dimensions + 2) {
  const bool is_padding = kind == Kind::zero_padding;
  const auto edges = edges_of(fields, is_padding ? "padding" : "cropping", dimensions);
  for (size_t d = 0; d < dimensions; ++d) {
    before_[d + 1] = is_padding ? edges[d][0] : -edges[d][0];
    after_[d + 1] = is_padding ? edges[d][1] : -edges[d][1];
  }
  if (dimensions == 2) fields.only("data_format", "channels_last");
}

std::vector<Value> EdgesLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
  return {builder.add(PaddingOp{before_, after_}, {only_input(call, name())})};
}

UpSampling::UpSampling(Fields &fields, size_t dimensions)
    : Layer(fields),
      size_(dimensions == 1 ? Shape{positive_size(fields, "size", 2)}
                            : positive_sizes(fields, "size", 2, Shape{2, 2})) {
  if (dimensions == 1) return;
  fields.only("data_format", "channels_last");
  fields.only("interpolation", "nearest");
}

std::vector<Value> UpSampling::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = as_image(builder, only_input(call, name()), size_.size(), name());
  const Window::Sizes size = height_and_width(size_);
  return {from_image(builder, builder.add(RepeatingOp{size[0], size[1]}, {x}), size_.size())};
}

std::vector<Value> Rescaling::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const ScaleOp op{static_cast<float>(scale_), static_cast<float>(offset_)};
  return {builder.add(op, {only_input(call, name())})};
}

}  // namespace det::nn
