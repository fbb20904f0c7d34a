#include "wrappers/nn/layers/merging.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "wrappers/nn/layers/layer_table.h"

namespace det::nn {

namespace {

std::string described(const Layer &layer) {
  return "calling the layer '" + layer.name() + "' (" + layer.class_name() + ")";
}

void expect_several(const LayerCall &call, const Layer &layer) {
  if (call.inputs.size() < 2)
    throw Error(Code::invalid, described(layer) + " with " + std::to_string(call.inputs.size()) +
                                   " inputs: it needs two or more");
}

Value with_axes(ProgramBuilder &builder, Value value, size_t axes) {
  Shape shape = builder.shape(value);
  if (shape.empty() || shape.size() >= axes) return value;
  shape.insert(shape.begin() + 1, axes - shape.size(), 1);
  return builder.add(ReshapeOp{shape}, {value});
}

Value repeated_to(ProgramBuilder &builder, Value value, const Shape &shape) {
  return builder.shape(value) == shape ? value : builder.add(BroadcastOp{shape}, {value});
}

// A step counts where it does in all inputs that say so.
void set_common_mask(ProgramBuilder &builder, const std::vector<Value> &inputs, Value result) {
  std::optional<Value> common;
  for (const Value input : inputs)
    if (const auto mask = builder.mask(input))
      common = common ? builder.add(ArithmeticOp{Arithmetic::multiply}, {*common, *mask}) : mask;
  if (common) builder.set_mask(result, *common);
}

}  // namespace

Value merged(ProgramBuilder &builder, Arithmetic arithmetic, Value x, Value y) {
  const size_t axes = std::max(builder.shape(x).size(), builder.shape(y).size());
  x = with_axes(builder, x, axes);
  y = with_axes(builder, y, axes);
  Shape common = builder.shape(x);
  const Shape &other = builder.shape(y);
  for (size_t i = 0; i < axes; ++i)
    if (common[i] == 1) common[i] = other.at(i);
  return builder.add(ArithmeticOp{arithmetic},
                     {repeated_to(builder, x, common), repeated_to(builder, y, common)});
}

Value any_of(ProgramBuilder &builder, Value mask, size_t axes) {
  Shape left = builder.shape(mask);
  if (left.size() <= axes) return mask;
  const auto behind = left.begin() + static_cast<std::ptrdiff_t>(axes);
  const int64_t count = elements_of({behind, left.end()});
  left.erase(behind, left.end());
  const Value rows = builder.add(ReshapeOp{{elements_of(left), count}}, {mask});
  const Array ones({{count, 1}, Dtype::f32});
  std::fill_n(ones.data(), ones.size(), 1.0F);
  const Value sums = builder.add(DenseOp{}, {rows, builder.constant(ones)});
  return builder.add(ReshapeOp{left}, {builder.add(FunctionOp{Function::differs, 0}, {sums})});
}

namespace {

// Add, Subtract, Multiply, Maximum, Minimum: from the first input to the last. Sizes of 1 are
// repeated to those of the others, and axes that are missing are added behind the batch.
class Merging : public Layer {
 public:
  Merging(Fields &fields, Arithmetic arithmetic) : Layer(fields), arithmetic_(arithmetic) {
    set_masking(Masking::by_itself);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    expect_several(call, *this);
    Value result = call.inputs[0];
    for (size_t i = 1; i < call.inputs.size(); ++i)
      result = merged(builder, arithmetic_, result, call.inputs[i]);
    set_common_mask(builder, call.inputs, result);
    return {result};
  }

 private:
  const Arithmetic arithmetic_;
};

class Average : public Merging {
 public:
  explicit Average(Fields &fields) : Merging(fields, Arithmetic::add) {}

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const std::vector<Value> sum = Merging::compute(builder, call);
    const Value mean = builder.add(ScaleOp{1 / static_cast<float>(call.inputs.size())}, sum);
    if (const auto mask = builder.mask(sum[0])) builder.set_mask(mean, *mask);
    return {mean};
  }
};

class Concatenate : public Layer {
 public:
  explicit Concatenate(Fields &fields) : Layer(fields), axis_(fields.integer("axis", -1)) {
    set_masking(Masking::by_itself);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    expect_several(call, *this);
    const size_t axis = axis_of(builder.shape(call.inputs[0]), axis_, described(*this));
    if (axis == 0)
      throw Error(Code::invalid, described(*this) + ": axis 0 is that of the batch, which stays");
    const Value joined = builder.add(ConcatenateOp{axis}, call.inputs);
    std::vector<Value> masks;
    for (const Value input : call.inputs)
      if (const auto mask = builder.mask(input)) masks.push_back(*mask);
    if (masks.empty()) return {joined};
    if (axis + 1 == builder.shape(joined).size()) {
      set_common_mask(builder, call.inputs, joined);
    } else if (masks.size() == call.inputs.size() && axis < builder.shape(masks[0]).size()) {
      builder.set_mask(joined, builder.add(ConcatenateOp{axis}, masks));
    } else {
      throw Error(Code::unsupported, described(*this) + " along axis " + std::to_string(axis) +
                                         ": only some of its inputs have a mask, or masks of fewer "
                                         "axes; give all of them one");
    }
    return {joined};
  }

 private:
  const int64_t axis_;
};

// The sums of products along one axis of each of two inputs, for each record.
class Dot : public Layer {
 public:
  explicit Dot(Fields &fields) : Layer(fields), axes_(fields.integers("axes", 2)) {
    fields.only("normalize", false);
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    if (call.inputs.size() != 2)
      throw Error(Code::invalid, described(*this) + " with " + std::to_string(call.inputs.size()) +
                                     " inputs: it takes two");
    // Vectors are matrices of one row each.
    std::vector<Value> matrices;
    std::vector<bool> is_last_axis;
    Shape result{builder.shape(call.inputs[0]).at(0)};
    for (size_t i = 0; i < 2; ++i) {
      const Value input = call.inputs[i];
      const Shape &shape = builder.shape(input);
      const size_t axis = axis_of(shape, axes_[i], described(*this));
      if (axis == 0 || shape.size() < 2 || shape.size() > 3)
        throw Error(Code::unsupported, described(*this) + " along axis " + std::to_string(axis) +
                                           " of " + text_of(shape) +
                                           ": only axes 1 and 2 of inputs with two or three axes "
                                           "are supported");
      is_last_axis.push_back(axis + 1 == shape.size());
      if (shape.size() == 3) result.push_back(shape[axis == 1 ? 2 : 1]);
      matrices.push_back(with_axes(builder, input, 3));
    }
    if (result.size() == 1) result.push_back(1);
    const Value product = builder.add(BatchedMatMulOp{!is_last_axis[0], is_last_axis[1]}, matrices);
    return {builder.add(ReshapeOp{result}, {product})};
  }

 private:
  const Shape axes_;
};

}  // namespace

LayerTable merging_layers() {
  return {
      {"Add", making<Merging>(Arithmetic::add)},
      {"Average", making<Average>()},
      {"Concatenate", making<Concatenate>()},
      {"Dot", making<Dot>()},
      {"Maximum", making<Merging>(Arithmetic::maximum)},
      {"Minimum", making<Merging>(Arithmetic::minimum)},
      {"Multiply", making<Merging>(Arithmetic::multiply)},
      {"Subtract", making<Merging>(Arithmetic::subtract)},
  };
}

}  // namespace det::nn
