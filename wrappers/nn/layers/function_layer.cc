// Functions of TensorFlow that were called on the results of layers.
#include <algorithm>
#include <functional>
#include <optional>
#include <variant>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/layers/activation_layers.h"
#include "wrappers/nn/layers/last_axes.h"
#include "wrappers/nn/layers/layer_table.h"
#include "wrappers/nn/layers/merging.h"

namespace det::nn {

namespace {

using Operand = std::variant<Value, float>;

// What a function is called with.
class FunctionCall {
 public:
  FunctionCall(ProgramBuilder &builder, const LayerCall &call, std::string calling)
      : builder(builder), call_(call), calling_(std::move(calling)) {}

  [[noreturn]] void refuse(const std::string &why, Code code = Code::unsupported) const {
    throw Error(code, calling_ + ": " + why);
  }

  const Json &option(const char *key) const {
    static const Json none;
    const auto found = call_.options.find(key);
    return found == call_.options.end() ? none : *found;
  }
  bool is_set(const char *key) const { return option(key) == Json(true); }

  const std::vector<Value> &inputs() const { return call_.inputs; }
  // The first argument, an array of real numbers.
  Value x() const {
    if (call_.inputs.empty()) refuse("its first argument is no array");
    return real(call_.inputs[0]);
  }
  // The first argument, and the one of this name or at the second place.
  Operand first() const {
    if (const Json &constant = option(LayerCall::constant_argument); !constant.is_null())
      return number(constant);
    return x();
  }
  Operand second(const char *name) const {
    if (const auto named = call_.named.find(name); named != call_.named.end())
      return real(named->second);
    if (call_.inputs.size() > 1) return real(call_.inputs[1]);
    return number(option(name));
  }
  float number(const char *key) const { return number(option(key)); }

  Shape sizes(const Json &given) const {
    Shape all;
    for (const Json &size : given.is_array() ? given : Json::array({given})) {
      if (!size.is_number_integer())
        refuse(to_wire(given).substr(0, 60) + " is no list of whole numbers", Code::invalid);
      all.push_back(size.get<int64_t>());
    }
    return all;
  }
  int64_t size(const Json &given) const {
    const Shape sizes = this->sizes(given);
    if (sizes.size() != 1) refuse(to_wire(given).substr(0, 60) + " is no number", Code::invalid);
    return sizes[0];
  }
  size_t axis(int64_t given, size_t axes) const {
    const int64_t axis = given < 0 ? given + static_cast<int64_t>(axes) : given;
    if (axis < 0 || axis >= static_cast<int64_t>(axes))
      refuse("there is no axis " + std::to_string(given), Code::invalid);
    return static_cast<size_t>(axis);
  }
  const std::string &calling() const { return calling_; }

  Value real(Value value) const {
    return builder.type(value).dtype == Dtype::f32
               ? value
               : builder.add(FunctionOp{Function::real}, {value});
  }

  ProgramBuilder &builder;

 private:
  float number(const Json &value) const {
    if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
    if (!value.is_number()) refuse("an argument is neither a number nor an array", Code::invalid);
    return static_cast<float>(value.get<double>());
  }

  const LayerCall &call_;
  const std::string calling_;
};

using Computed = std::function<Value(const FunctionCall &)>;

Value added(const FunctionCall &call, const Operation &operation, Value x) {
  return call.builder.add(operation, {x});
}

Computed element(const Operation &operation) {
  return [operation](const FunctionCall &call) { return added(call, operation, call.x()); };
}

// x op y, either of which may be a number.
Computed arithmetic(Arithmetic arithmetic) {
  return [arithmetic](const FunctionCall &call) -> Value {
    const Operand x = call.first(), y = call.second("y");
    if (std::holds_alternative<Value>(x) && std::holds_alternative<Value>(y))
      return merged(call.builder, arithmetic, std::get<Value>(x), std::get<Value>(y));
    const bool is_first = std::holds_alternative<float>(x);
    if (is_first && std::holds_alternative<float>(y)) call.refuse("no argument is an array");
    const float number = std::get<float>(is_first ? x : y);
    const Value array = std::get<Value>(is_first ? y : x);
    const float infinity = std::numeric_limits<float>::infinity();
    switch (arithmetic) {
      case Arithmetic::add:
        return added(call, ScaleOp{1, number}, array);
      case Arithmetic::subtract:
        return added(call, is_first ? ScaleOp{-1, number} : ScaleOp{1, -number}, array);
      case Arithmetic::multiply:
        return added(call, ScaleOp{number}, array);
      case Arithmetic::maximum:
        return added(call, FunctionOp{Function::clip, number, infinity}, array);
      case Arithmetic::minimum:
        return added(call, FunctionOp{Function::clip, -infinity, number}, array);
    }
    return array;
  };
}

Value divided(const FunctionCall &call) {
  const Operand x = call.first(), y = call.second("y");
  if (const float *by = std::get_if<float>(&y)) return added(call, ScaleOp{1 / *by}, call.x());
  const Value inverse = added(call, FunctionOp{Function::power, -1}, std::get<Value>(y));
  if (const float *number = std::get_if<float>(&x)) return added(call, ScaleOp{*number}, inverse);
  return merged(call.builder, Arithmetic::multiply, std::get<Value>(x), inverse);
}

Value to_the_power(const FunctionCall &call) {
  const Operand y = call.second("y");
  if (!std::holds_alternative<float>(y)) call.refuse("its exponent is an array");
  return added(call, FunctionOp{Function::power, std::get<float>(y)}, call.x());
}

Value squared_difference(const FunctionCall &call) {
  const Value difference = arithmetic(Arithmetic::subtract)(call);
  return call.builder.add(ArithmeticOp{Arithmetic::multiply}, {difference, difference});
}

Value within_ends(const FunctionCall &call) {
  return added(
      call,
      FunctionOp{Function::clip, call.number("clip_value_min"), call.number("clip_value_max")},
      call.x());
}

Value as_real(const FunctionCall &call) {
  const Json &to = call.option("dtype");
  if (to != Json("float32"))
    call.refuse("to " + to_wire(to).substr(0, 60) + "; only to float32 is supported");
  return call.x();
}

Value in_another_shape(const FunctionCall &call) {
  const Value x = call.x();
  const Shape given = call.builder.shape(x);
  Shape shape = call.sizes(call.option("shape"));
  if (shape.empty() || std::count(shape.begin(), shape.end(), -1) > 1)
    call.refuse("its shape has no batch, or more than one size that is left open", Code::invalid);
  const int64_t all = elements_of(given);
  Shape said = shape;
  std::erase(said, -1);
  for (const int64_t size : said)
    if (size < 0) call.refuse("its shape has a size of " + std::to_string(size), Code::invalid);
  const int64_t others = elements_of(said);
  for (int64_t &size : shape)
    if (size == -1) size = others > 0 ? all / others : 0;
  return added(call, ReshapeOp{shape}, x);
}

Value with_another_axis(const FunctionCall &call) {
  const Value x = call.x();
  Shape shape = call.builder.shape(x);
  const size_t at = call.axis(call.size(call.option("axis")), shape.size() + 1);
  if (at == 0) call.refuse("its axis comes before that of the batch");
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(at), 1);
  return added(call, ReshapeOp{shape}, x);
}

Value without_axes(const FunctionCall &call) {
  const Value x = call.x();
  const Shape &shape = call.builder.shape(x);
  std::vector<bool> leaves(shape.size(), false);
  const Json &given = call.option("axis");
  if (given.is_null() || (given.is_array() && given.empty())) {
    for (size_t i = 1; i < shape.size(); ++i) leaves[i] = shape[i] == 1;
  } else {
    for (const int64_t one : call.sizes(given)) leaves[call.axis(one, shape.size())] = true;
  }
  Shape left;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!leaves[i]) left.push_back(shape[i]);
    else if (i == 0 || shape[i] != 1)
      call.refuse("axis " + std::to_string(i) + " of " + text_of(shape) + " cannot be left out",
                  Code::invalid);
  }
  return added(call, ReshapeOp{left}, x);
}

Value with_axes_moved(const FunctionCall &call) {
  const Value x = call.x();
  const size_t axes = call.builder.shape(x).size();
  TransposeOp op;
  if (call.option("perm").is_null())
    for (size_t i = axes; i-- > 0;) op.permutation.push_back(i);
  else
    for (const int64_t one : call.sizes(call.option("perm")))
      op.permutation.push_back(call.axis(one, axes));
  if (op.permutation.empty() || op.permutation[0] != 0)
    call.refuse("it moves the axis of the batch");
  return added(call, op, x);
}

Value side_by_side(const FunctionCall &call) {
  std::vector<Value> parts;
  for (const Value input : call.inputs()) parts.push_back(call.real(input));
  if (parts.empty()) call.refuse("it is given no arrays", Code::invalid);
  const size_t axis =
      call.axis(call.size(call.option("axis")), call.builder.shape(parts[0]).size());
  if (axis == 0) call.refuse("axis 0 is that of the batch");
  return call.builder.add(ConcatenateOp{axis}, parts);
}

// The sum or the mean of each row, as a product with ones.
Value reduced_rows(const FunctionCall &call, Value rows, bool is_mean) {
  const int64_t count = call.builder.shape(rows).back();
  const Array ones({{count, 1}, Dtype::f32});
  std::fill_n(ones.data(), ones.size(), is_mean ? 1 / static_cast<float>(count) : 1.0F);
  return call.builder.add(DenseOp{}, {rows, call.builder.constant(ones)});
}

// Of all numbers in the batch, as AddLoss takes it.
Value total_of(const FunctionCall &call, Value x, bool is_mean) {
  const int64_t count = elements_of(call.builder.shape(x));
  const Value row = added(call, ReshapeOp{{1, count}}, x);
  return added(call, ReshapeOp{Shape{}}, reduced_rows(call, row, is_mean));
}

// The sum or the mean along the axes that the call names; without them, of all numbers.
Computed summed(bool is_mean) {
  return [is_mean](const FunctionCall &call) -> Value {
    const Value x = call.x();
    const Shape shape = call.builder.shape(x);
    const bool is_of_all = call.option("axis").is_null();
    if (is_of_all && call.is_set("keepdims")) call.refuse("with 'keepdims' it needs an 'axis'");
    if (is_of_all) return total_of(call, x, is_mean);
    const Shape axes = call.sizes(call.option("axis"));
    const LastAxes last(shape, axes, call.calling());
    const Value rows = last.put_last(call.builder, x);
    const Value sum = reduced_rows(call, rows, is_mean);
    std::vector<bool> is_summed(shape.size(), false);
    for (const int64_t one : axes) is_summed[call.axis(one, shape.size())] = true;
    Shape left;
    for (size_t i = 0; i < shape.size(); ++i)
      if (!is_summed[i]) left.push_back(shape[i]);
      else if (call.is_set("keepdims")) left.push_back(1);
    return added(call, ReshapeOp{left}, sum);
  };
}

Value matrix_product(const FunctionCall &call) {
  const Operand b = call.second("b");
  if (!std::holds_alternative<Value>(b)) call.refuse("its second argument is no array");
  return call.builder.add(BatchedMatMulOp{call.is_set("transpose_a"), call.is_set("transpose_b")},
                          {call.x(), std::get<Value>(b)});
}

Value softmax(const FunctionCall &call, bool is_logarithm) {
  const Value x = call.x();
  const Json &axis = call.option("axis");
  const LastAxes last(call.builder.shape(x), axis.is_null() ? Shape{-1} : call.sizes(axis),
                      call.calling());
  return last.put_back(call.builder,
                       added(call, SoftmaxOp{is_logarithm}, last.put_last(call.builder, x)));
}

// x[:, 1:3, -1]: of each axis behind the batch a part, or one number of it.
Value part_of_axes(const FunctionCall &call) {
  Value x = call.x();
  const Json &spec = call.option("slice_spec");
  Shape left{call.builder.shape(x).at(0)};
  size_t axis = 0;
  for (const Json &one : spec.is_array() ? spec : Json::array({spec})) {
    if (axis >= call.builder.shape(x).size()) call.refuse("it has more parts than axes");
    const int64_t size = call.builder.shape(x)[axis];
    const auto end_of = [&](const char *key, int64_t usual) {
      const Json &end = one.contains(key) ? one[key] : Json();
      if (end.is_null()) return usual;
      if (!end.is_number_integer()) call.refuse("an end of a part is no number");
      const auto given = end.get<int64_t>();
      return std::clamp<int64_t>(given < 0 ? given + size : given, 0, size);
    };
    const bool is_number = one.is_number_integer();
    if (!is_number && !one.is_object()) call.refuse("it is called with " + to_wire(one));
    int64_t begin = 0, end = size;
    if (is_number) {
      const auto index = one.get<int64_t>();
      begin = index < 0 ? index + size : index;
      if (begin < 0 || begin >= size)
        call.refuse("there is no number " + std::to_string(index) + " on axis " +
                        std::to_string(axis) + " of " + text_of(call.builder.shape(x)),
                    Code::invalid);
      end = begin + 1;
    } else {
      if (one.contains("step") && !one["step"].is_null() && one["step"] != Json(1))
        call.refuse("only steps of 1 are supported");
      begin = end_of("start", 0);
      end = std::max(begin, end_of("stop", size));
    }
    if (axis == 0 && (begin != 0 || end != size || is_number))
      call.refuse("it takes a part of the batch");
    if (begin != 0 || end != size) x = added(call, SliceOp{axis, begin, end - begin}, x);
    if (axis > 0 && !is_number) left.push_back(end - begin);
    ++axis;
  }
  const Shape &shape = call.builder.shape(x);
  left.insert(left.end(), shape.begin() + static_cast<std::ptrdiff_t>(std::max<size_t>(axis, 1)),
              shape.end());
  return left == shape ? x : added(call, ReshapeOp{left}, x);
}

const std::map<std::string, Computed> &functions() {
  const auto activation = [](Activation function) { return element(ActivationOp{function}); };
  static const std::map<std::string, Computed> all{
      {"__operators__.add", arithmetic(Arithmetic::add)},
      {"__operators__.getitem", part_of_axes},
      {"cast", as_real},
      {"clip_by_value", within_ends},
      {"compat.v1.squeeze", without_axes},
      {"compat.v1.transpose", with_axes_moved},
      {"concat", side_by_side},
      {"expand_dims", with_another_axis},
      {"identity", [](const FunctionCall &call) { return call.x(); }},
      {"linalg.matmul", matrix_product},
      {"math.abs", element(FunctionOp{Function::absolute})},
      {"math.add", arithmetic(Arithmetic::add)},
      {"math.divide", divided},
      {"math.exp", activation(Activation::exponential)},
      {"math.log", element(FunctionOp{Function::logarithm})},
      {"math.maximum", arithmetic(Arithmetic::maximum)},
      {"math.minimum", arithmetic(Arithmetic::minimum)},
      {"math.multiply", arithmetic(Arithmetic::multiply)},
      {"math.negative", element(ScaleOp{-1})},
      {"math.pow", to_the_power},
      {"math.reciprocal", element(FunctionOp{Function::power, -1})},
      {"math.reduce_mean", summed(true)},
      {"math.reduce_sum", summed(false)},
      {"math.rsqrt", element(FunctionOp{Function::power, -0.5F})},
      {"math.sigmoid", activation(Activation::sigmoid)},
      {"math.softplus", activation(Activation::softplus)},
      {"math.sqrt", element(FunctionOp{Function::power, 0.5F})},
      {"math.square", element(FunctionOp{Function::power, 2})},
      {"math.squared_difference", squared_difference},
      {"math.subtract", arithmetic(Arithmetic::subtract)},
      {"math.tanh", activation(Activation::tanh)},
      {"math.truediv", divided},
      {"nn.elu", activation(Activation::elu)},
      {"nn.log_softmax", [](const FunctionCall &call) { return softmax(call, true); }},
      {"nn.relu", activation(Activation::relu)},
      {"nn.relu6", activation(Activation::relu6)},
      {"nn.selu", activation(Activation::selu)},
      {"nn.silu", activation(Activation::silu)},
      {"nn.softmax", [](const FunctionCall &call) { return softmax(call, false); }},
      {"nn.softsign", activation(Activation::softsign)},
      {"reshape", in_another_shape},
      {"squeeze", without_axes},
      {"transpose", with_axes_moved},
  };
  return all;
}

// Keras' TFOpLambda and SlicingOpLambda: arithmetic, functions of each element, means and sums, and
// what only arranges elements. The arguments are those of the call.
class FunctionLayer : public Layer {
 public:
  explicit FunctionLayer(Fields &fields) : Layer(fields), function_(fields.text("function")) {
    if (functions().count(function_) > 0) return;
    std::vector<std::string> names;
    for (const auto &[name, function] : functions()) names.push_back(name);
    throw Error(Code::unsupported, "reading " + fields.where() + ": the function of TensorFlow '" +
                                       function_ + "' is not supported" +
                                       suggestion(function_, names) +
                                       "; say what it computes by layers");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const FunctionCall given(
        builder, call,
        "calling the layer '" + name() + "' (" + class_name() + " of tf." + function_ + ")");
    return {functions().at(function_)(given)};
  }

 private:
  const std::string function_;
};

}  // namespace

LayerTable function_layers() {
  return {
      {"SlicingOpLambda", making<FunctionLayer>()},
      {"TFOpLambda", making<FunctionLayer>()},
  };
}

}  // namespace det::nn
