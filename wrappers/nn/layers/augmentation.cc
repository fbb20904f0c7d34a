#include "wrappers/nn/layers/augmentation.h"

#include <numbers>

#include "core/base/error.h"

namespace det::nn {

namespace {

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

}  // namespace

RandomImageLayer::RandomImageLayer(Fields &fields, RandomImageOp::Change change) : Layer(fields) {
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

std::vector<Value> RandomImageLayer::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  return {is_training(builder, call) ? builder.add(op_, {x}) : x};
}

}  // namespace det::nn
