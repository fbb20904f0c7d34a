#include "wrappers/nn/onednn/laid_out.h"

namespace det::nn {

namespace {

OnednnPrimitive reordering(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &from,
                           void *from_data, const MemoryDesc &to, void *to_data) {
  const dnnl::reorder::primitive_desc prepared(context->engine, from, context->engine, to,
                                               usual_attributes());
  OnednnPrimitive made(context, dnnl::reorder(prepared), prepared.scratchpad_desc());
  made.with(DNNL_ARG_FROM, from, from_data).with(DNNL_ARG_TO, to, to_data);
  return made;
}

}  // namespace

LaidOut::LaidOut(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &ours,
                 const Array &array, const MemoryDesc &theirs)
    : theirs_(theirs), array_(array) {
  if (ours == theirs) return;
  // Blocks may be filled up behind the last element.
  const auto floats = static_cast<int64_t>(theirs.get_size() / sizeof(float));
  copy_ = Array({{floats}, Dtype::f32});
  in_.emplace(reordering(context, ours, array.raw(), theirs, copy_.raw()));
  out_.emplace(reordering(context, theirs, copy_.raw(), ours, array.raw()));
}

}  // namespace det::nn
