#include "wrappers/nn/layers/standardization.h"

#include <algorithm>

#include "core/base/error.h"
#include "wrappers/nn/layers/last_axes.h"

namespace det::nn {

namespace {

// Of a number or of nested arrays, in their order. False where something else is among them.
bool append_numbers(const Json &given, std::vector<float> &numbers) {
  if (given.is_number()) numbers.push_back(given.get<float>());
  return given.is_number() ||
         (given.is_array() && std::all_of(given.begin(), given.end(), [&](const Json &part) {
            return append_numbers(part, numbers);
          }));
}

std::vector<float> numbers_or_none(Fields &fields, const char *key) {
  std::vector<float> numbers;
  const Json &given = fields.any(key);
  if (!given.is_null() && (!append_numbers(given, numbers) || numbers.empty()))
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key +
                                   "' must be a number or an array of numbers");
  return numbers;
}

Value constant(ProgramBuilder &builder, const std::vector<float> &numbers, int64_t size,
               const std::string &what) {
  const Array array({{size}, Dtype::f32});
  if (numbers.size() != 1 && numbers.size() != array.size())
    throw Error(Code::invalid, what + " has " + std::to_string(numbers.size()) +
                                   " numbers, and the axes that it is along " +
                                   std::to_string(size) + " places");
  for (size_t i = 0; i < array.size(); ++i)
    array.data()[i] = numbers.size() == 1 ? numbers[0] : numbers[i];
  return builder.constant(array);
}

}  // namespace

Standardization::Standardization(Fields &fields)
    : Layer(fields),
      axes_(axes_field(fields, -1)),
      is_inverse_(fields.flag("invert", false)),
      mean_(numbers_or_none(fields, "mean")),
      variance_(numbers_or_none(fields, "variance")) {
  set_mixing(Mixing::ends);
  if (mean_.empty() != variance_.empty())
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": 'mean' and 'variance' are given both, or none of them");
  if (std::any_of(variance_.begin(), variance_.end(), [](float one) { return !(one >= 0); }))
    throw Error(Code::invalid, "reading " + fields.where() + ": a 'variance' is below 0");
}

std::vector<Value> Standardization::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value given = only_input(call, name());
  const std::string calling = "calling the layer '" + name() + "' (" + class_name() + ")";
  const Shape shape = builder.shape(given);
  if (builder.type(given).dtype != Dtype::f32)
    throw Error(Code::unsupported, calling + " with whole numbers: it takes real ones");
  const LastAxes last(shape, axes_, calling);
  const int64_t size = elements_of(last.sizes());
  const Value x = last.put_last(builder, given);
  Value mean = 0, variance = 0;
  if (mean_.empty()) {
    const auto moment = [&](const char *moment_name, const char *first) {
      const Value own =
          weight(builder, moment_name, last.sizes(), make_initializer(first, calling), true);
      return axes_.size() == 1 ? own : builder.add(ReshapeOp{{size}}, {own});
    };
    mean = moment("mean", "zeros");
    variance = moment("variance", "ones");
    weight(builder, "count", {}, make_initializer("zeros", calling), true);
  } else {
    mean = constant(builder, mean_, size, calling + ": its 'mean'");
    variance = constant(builder, variance_, size, calling + ": its 'variance'");
  }
  return {last.put_back(builder, is_inverse_ ? inverted(builder, x, mean, variance)
                                             : standardized(builder, x, mean, variance))};
}

Value Standardization::standardized(ProgramBuilder &builder, Value x, Value mean,
                                    Value variance) const {
  BatchNormalizationOp op;
  op.axis = builder.shape(x).size() - 1;
  op.has_scale = op.has_center = false;
  op.epsilon = 1e-14F;  // Keras divides by 1e-7 at least
  return builder.add(op, {x, mean, variance});
}

// x * deviation + mean, where the deviation is the variance divided by it.
Value Standardization::inverted(ProgramBuilder &builder, Value x, Value mean,
                                Value variance) const {
  const int64_t size = builder.shape(variance)[0];
  const Value row = builder.add(ReshapeOp{{1, size}}, {variance});
  const Value zeros = builder.constant(Array({{size}, Dtype::f32}));
  const Value deviation =
      builder.add(ReshapeOp{{size}}, {standardized(builder, row, zeros, variance)});
  const Value scaled = builder.add(ArithmeticOp{Arithmetic::multiply}, {x, deviation});
  return builder.add(ArithmeticOp{Arithmetic::add}, {scaled, mean});
}

}  // namespace det::nn
