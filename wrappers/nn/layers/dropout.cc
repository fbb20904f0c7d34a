#include "wrappers/nn/layers/dropout.h"

#include "core/base/error.h"

namespace det::nn {

float rate_below_1(Fields &fields, const char *key) {
  const double rate = fields.number(key, 0);
  if (rate >= 0 && rate < 1) return static_cast<float>(rate);
  throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is " +
                                 to_wire(fields.any(key)) + ", and must be from 0 to below 1");
}

Dropout::Dropout(Fields &fields, Kind kind, size_t rank)
    : Layer(fields), kind_(kind), rank_(rank), rate_(fields.number("rate")) {
  if (!(rate_ >= 0 && rate_ <= 1))
    throw Error(Code::invalid, "reading " + fields.where() + ": 'rate' is " +
                                   to_wire(fields.any("rate")) + ", and must be from 0 to 1");
  fields.only_null("noise_shape");
  if (fields.has("seed")) seed_ = static_cast<uint64_t>(fields.integer("seed"));
  else fields.any("seed");
  if (kind == Kind::channels && rank == 4) fields.only("data_format", "channels_last");
}

std::vector<Value> Dropout::compute(ProgramBuilder &builder, const LayerCall &call) const {
  const Value x = only_input(call, name());
  if (kind_ == Kind::channels && builder.shape(x).size() != rank_)
    throw Error(Code::invalid, "calling the layer '" + name() + "' with an input of " +
                                   text_of(builder.shape(x)) + ": it takes one of " +
                                   std::to_string(rank_) + " axes");
  if (rate_ == 0 || !is_training(builder, call)) return {x};
  return {builder.add(DropoutOp{static_cast<float>(rate_), kind_ == Kind::channels, seed_}, {x})};
}

}  // namespace det::nn
