#include "wrappers/nn/layers/dropout.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "wrappers/nn/layers/layer_table.h"

namespace det::nn {

float rate_below_1(Fields &fields, const char *key) {
  const double rate = fields.number(key, 0);
  if (rate >= 0 && rate < 1) return static_cast<float>(rate);
  throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                 to_wire(fields.any(key)) + ", and must be from 0 to below 1");
}

namespace {

double rate_of(Fields &fields) {
  const double rate = fields.number("rate");
  if (rate >= 0 && rate <= 1) return rate;
  throw Error(Code::invalid, "reading " + fields.where() + ": 'rate' is " +
                                 to_wire(fields.any("rate")) + ", and must be from 0 to 1");
}

std::optional<uint64_t> seed_of(Fields &fields) {
  if (fields.has("seed")) return static_cast<uint64_t>(fields.integer("seed"));
  fields.any("seed");
  return {};
}

}  // namespace

NoiseShape::NoiseShape(Fields &fields) {
  if (fields.has("noise_shape")) sizes_ = fields.shape("noise_shape");
  else fields.any("noise_shape");
}

Value NoiseShape::leave_out(ProgramBuilder &builder, Value x, const DropoutOp &op,
                            const std::string &layer) const {
  const Shape shape = builder.shape(x);
  Shape noise = sizes_.value_or(shape);
  bool fits = noise.size() == shape.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    if (noise[i] == unknown) noise[i] = shape[i];
    fits = noise[i] == shape[i] || noise[i] == 1;
  }
  if (!fits)
    throw Error(Code::invalid, "calling the layer '" + layer + "' with an input of " +
                                   text_of(shape) + ": its 'noise_shape' is " + text_of(noise) +
                                   ", and must have 1 or the size of the input for each axis");
  if (noise == shape) return builder.add(op, {x});
  const Array ones({noise, Dtype::f32});
  std::fill_n(ones.data(), ones.size(), 1.0F);
  const Value factors = builder.add(op, {builder.constant(ones)});
  return builder.add(ArithmeticOp{Arithmetic::multiply},
                     {x, builder.add(BroadcastOp{shape}, {factors})});
}

namespace {

// Each element by itself, or whole channels of an input of `rank` axes.
class Dropout : public Layer {
 public:
  enum class Kind { elements, channels };

  explicit Dropout(Fields &fields, Kind kind = Kind::elements, size_t rank = 0)
      : Layer(fields),
        kind_(kind),
        rank_(rank),
        rate_(rate_of(fields)),
        noise_shape_(fields),
        seed_(seed_of(fields)) {
    set_masking(Masking::passes);
    if (kind == Kind::channels && rank == 4) fields.only("data_format", "channels_last");
  }

 protected:
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    const Value x = only_input(call, name());
    if (kind_ == Kind::channels && builder.shape(x).size() != rank_)
      throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                     text_of(builder.shape(x)) + ": it takes one of " +
                                     std::to_string(rank_) + " axes");
    if (rate_ == 0 || !is_training(builder, call)) return {x};
    const DropoutOp op{static_cast<float>(rate_), kind_ == Kind::channels, seed_};
    return {kind_ == Kind::channels ? builder.add(op, {x})
                                    : noise_shape_.leave_out(builder, x, op, name())};
  }

 private:
  const Kind kind_;
  const size_t rank_;
  const double rate_;
  const NoiseShape noise_shape_;
  const std::optional<uint64_t> seed_;
};

// Leaves mean and variance as they are: what is left out becomes the least that SELU gives.
class AlphaDropout : public Layer {
 public:
  explicit AlphaDropout(Fields &fields)
      : Layer(fields), rate_(rate_of(fields)), noise_shape_(fields), seed_(seed_of(fields)) {
    set_masking(Masking::passes);
  }

 protected:
  // a * (kept ? x : least) + b = a * (kept * (x - least)) + a * least + b
  std::vector<Value> compute(ProgramBuilder &builder, const LayerCall &call) const override {
    constexpr double alpha = 1.6732632423543772848170429916717;  // of SELU
    constexpr double scale = 1.0507009873554804934193349852946;
    constexpr double least = -alpha * scale;
    const Value x = only_input(call, name());
    // As in Keras, nothing is left of what is left out for certain, and so all is kept.
    if (rate_ == 0 || rate_ == 1 || !is_training(builder, call)) return {x};
    const double a = 1 / std::sqrt((1 - rate_) * (1 + rate_ * least * least));
    const double b = -a * least * rate_;
    const auto scaled = [&](Value value, double factor, double offset) {
      return builder.add(ScaleOp{static_cast<float>(factor), static_cast<float>(offset)}, {value});
    };
    const Value left = noise_shape_.leave_out(builder, scaled(x, 1, -least),
                                              {static_cast<float>(rate_), false, seed_}, name());
    return {scaled(left, a * (1 - rate_), a * least + b)};
  }

 private:
  const double rate_;
  const NoiseShape noise_shape_;
  const std::optional<uint64_t> seed_;
};

}  // namespace

LayerTable dropout_layers() {
  return {
      {"AlphaDropout", making<AlphaDropout>()},
      {"Dropout", making<Dropout>()},
      {"SpatialDropout1D", making<Dropout>(Dropout::Kind::channels, size_t{3})},
      {"SpatialDropout2D", making<Dropout>(Dropout::Kind::channels, size_t{4})},
  };
}

}  // namespace det::nn
