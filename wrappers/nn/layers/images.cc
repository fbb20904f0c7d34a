// Images and sequences made larger or smaller, rescaled, or changed by chance while a model is
// trained.
#include <algorithm>
#include <limits>
#include <numbers>

#include "core/base/error.h"
#include "wrappers/nn/layers/layer_table.h"
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

// Zeros put around, or edges cut off, of one or two spatial dimensions.
class EdgesLayer : public Layer {
 public:
  enum class Kind { zero_padding, cropping };

  EdgesLayer(Fields &fields, Kind kind, size_t dimensions)
      : Layer(fields), before_(dimensions + 2), after_(dimensions + 2) {
    const bool is_padding = kind == Kind::zero_padding;
    const auto edges = edges_of(fields, is_padding ? "padding" : "cropping", dimensions);
    for (size_t d = 0; d < dimensions; ++d) {
      before_[d + 1] = is_padding ? edges[d][0] : -edges[d][0];
      after_[d + 1] = is_padding ? edges[d][1] : -edges[d][1];
    }
    if (dimensions == 2) fields.only("data_format", "channels_last");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    return {builder.add(PaddingOp{before_, after_}, {only_input(call, name())})};
  }

 private:
  Shape before_, after_;  // of all axes; below zero is cut off
};

// Each step or pixel repeated, or pixels between them that are made of those around them.
class UpSampling : public Layer {
 public:
  UpSampling(Fields &fields, size_t dimensions)
      : Layer(fields),
        size_(dimensions == 1 ? Shape{positive_size(fields, "size", 2)}
                              : positive_sizes(fields, "size", 2, Shape{2, 2})) {
    if (dimensions == 1) return;
    fields.only("data_format", "channels_last");
    const std::string interpolation = fields.text("interpolation", "nearest");
    is_bilinear_ = interpolation == "bilinear";
    if (!is_bilinear_) fields.only("interpolation", "nearest");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = as_image(builder, only_input(call, name()), size_.size(), name());
    const Window::Sizes size = height_and_width(size_);
    if (is_bilinear_) return {builder.add(InterpolatingOp{size[0], size[1]}, {x})};
    return {from_image(builder, builder.add(RepeatingOp{size[0], size[1]}, {x}), size_.size())};
  }

 private:
  const Shape size_;
  bool is_bilinear_ = false;
};

// x * scale + offset, each a number or several for the places of the last axis.
class Rescaling : public Layer {
 public:
  explicit Rescaling(Fields &fields)
      : Layer(fields),
        scale_(number_or_several(fields, "scale")),
        offset_(number_or_several(fields, "offset", 0)) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
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

 private:
  const std::vector<float> scale_, offset_;
};

[[noreturn]] void refuse(Fields &fields, const char *key, const std::string &wanted) {
  throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                 to_wire(fields.any(key)) + ", and must be " + wanted);
}

// Of one number x that from -x to x, or [low, high]; each times `scale`, above `offset`.
RandomImageOp::Range range_of(Fields &fields, const char *key, double least, double scale,
                              double offset) {
  double low = 0, high = 0;
  if (fields.is_given(key) && fields.any(key).is_array()) {
    const std::vector<double> both = fields.numbers(key);
    if (both.size() != 2) refuse(fields, key, "a number, or the least and the most");
    low = both[0];
    high = both[1];
  } else {
    high = fields.number(key);
    low = -high;
  }
  if (!(low <= high) || !(low >= least))
    refuse(fields, key, "a number of 0 or more, or the least and the most");
  return {static_cast<float>(offset + scale * low), static_cast<float>(offset + scale * high)};
}

void read_mirrors(Fields &fields, RandomImageOp &op) {
  const std::string mode = fields.text("mode", "horizontal_and_vertical");
  op.across = mode != "vertical";
  op.down = mode != "horizontal";
  if (op.across && op.down && mode != "horizontal_and_vertical")
    refuse(fields, "mode", "horizontal, vertical or horizontal_and_vertical");
}

void read_places(Fields &fields, RandomImageOp &op) {
  const std::string mode = fields.text("fill_mode", "reflect");
  if (mode == "nearest") op.beyond = Beyond::nearest;
  else if (mode == "wrap") op.beyond = Beyond::wrapped;
  else if (mode == "constant") op.beyond = Beyond::constant;
  else if (mode != "reflect") refuse(fields, "fill_mode", "reflect, wrap, constant or nearest");
  op.filling = static_cast<float>(fields.number("fill_value", 0));
  const std::string between = fields.text("interpolation", "bilinear");
  op.takes_nearest = between == "nearest";
  if (!op.takes_nearest && between != "bilinear")
    refuse(fields, "interpolation", "bilinear or nearest");
}

class RandomImageLayer : public Layer {
 public:
  RandomImageLayer(Fields &fields, RandomImageOp::Change change) : Layer(fields) {
    constexpr double any = -1e6;
    op_.change = change;
    if (change == RandomImageOp::Change::mirror) {
      read_mirrors(fields, op_);
    } else {
      read_places(fields, op_);
    }
    if (change == RandomImageOp::Change::turn)
      op_.angle = range_of(fields, "factor", any, 2 * std::numbers::pi, 0);
    if (change == RandomImageOp::Change::zoom) {
      op_.height = range_of(fields, "height_factor", -1, 1, 1);
      op_.keeps_proportions = !fields.has("width_factor");
      if (op_.keeps_proportions) fields.any("width_factor");
      else op_.width = range_of(fields, "width_factor", -1, 1, 1);
    }
    if (fields.has("seed")) op_.seed = static_cast<uint64_t>(fields.integer("seed"));
    else fields.any("seed");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    return {is_training(builder, call) ? builder.add(op_, {x}) : x};
  }

 private:
  RandomImageOp op_;
};

}  // namespace

LayerTable image_layers() {
  return {
      {"Cropping1D", making<EdgesLayer>(EdgesLayer::Kind::cropping, size_t{1})},
      {"Cropping2D", making<EdgesLayer>(EdgesLayer::Kind::cropping, size_t{2})},
      {"RandomFlip", making<RandomImageLayer>(RandomImageOp::Change::mirror)},
      {"RandomRotation", making<RandomImageLayer>(RandomImageOp::Change::turn)},
      {"RandomZoom", making<RandomImageLayer>(RandomImageOp::Change::zoom)},
      {"Rescaling", making<Rescaling>()},
      {"UpSampling1D", making<UpSampling>(size_t{1})},
      {"UpSampling2D", making<UpSampling>(size_t{2})},
      {"ZeroPadding1D", making<EdgesLayer>(EdgesLayer::Kind::zero_padding, size_t{1})},
      {"ZeroPadding2D", making<EdgesLayer>(EdgesLayer::Kind::zero_padding, size_t{2})},
  };
}

}  // namespace det::nn
