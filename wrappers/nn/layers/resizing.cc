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

std::vector<float> number_or_several(Fields &fields, const char *key,
                                     std::optional<double> usual = {}) {
  if (!fields.is_given(key) || !fields.any(key).is_array())
    return {static_cast<float>(fields.number(key, usual))};
  const std::vector<double> given = fields.numbers(key);
  if (given.empty())
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' has no number");
  return {given.begin(), given.end()};
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
  const std::string interpolation = fields.text("interpolation", "nearest");
  is_bilinear_ = interpolation == "bilinear";
  if (!is_bilinear_) fields.only("interpolation", "nearest");
}

std::vector<Value> UpSampling::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = as_image(builder, only_input(call, name()), size_.size(), name());
  const Window::Sizes size = height_and_width(size_);
  if (is_bilinear_) return {builder.add(InterpolatingOp{size[0], size[1]}, {x})};
  return {from_image(builder, builder.add(RepeatingOp{size[0], size[1]}, {x}), size_.size())};
}

Rescaling::Rescaling(Fields &fields)
    : Layer(fields),
      scale_(number_or_several(fields, "scale")),
      offset_(number_or_several(fields, "offset", 0)) {}

std::vector<Value> Rescaling::compute(ProgramBuilder &builder, const LayerCall &call) const {
  Value y = only_input(call, name());
  if (scale_.size() == 1 && offset_.size() == 1)
    return {builder.add(ScaleOp{scale_[0], offset_[0]}, {y})};
  const Shape shape = builder.shape(y);
  const int64_t places = shape.empty() ? 1 : shape.back();
  const auto apply = [&](Arithmetic arithmetic, const char *key,
                         const std::vector<float> &numbers) {
    if (numbers.size() != 1 && static_cast<int64_t>(numbers.size()) != places)
      throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                     text_of(shape) + ": its '" + key + "' has " +
                                     std::to_string(numbers.size()) +
                                     " numbers, and must have one, or one for each place of the "
                                     "last axis");
    const Array row({{places}, Dtype::f32});
    for (size_t i = 0; i < row.size(); ++i)
      row.data()[i] = numbers.size() == 1 ? numbers[0] : numbers[i];
    y = builder.add(ArithmeticOp{arithmetic}, {y, builder.constant(row)});
  };
  apply(Arithmetic::multiply, "scale", scale_);
  apply(Arithmetic::add, "offset", offset_);
  return {y};
}

}  // namespace det::nn
