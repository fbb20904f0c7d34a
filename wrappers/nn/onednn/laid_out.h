// Arrays in the layouts that primitives want.
#pragma once

#include <optional>

#include "wrappers/nn/onednn/onednn_primitive.h"

namespace det::nn {

// An array of ours, or where a primitive wants another layout, a copy of it.
class LaidOut {
 public:
  LaidOut(const std::shared_ptr<OnednnContext> &context, const MemoryDesc &ours, const Array &array,
          const MemoryDesc &theirs);

  // What the primitive works on.
  const MemoryDesc &desc() const { return theirs_; }
  void *raw() const { return copy_ ? copy_.raw() : array_.raw(); }

  // Before a primitive that reads it, and after one that writes it.
  void bring_in() const {
    if (in_) in_->run();
  }
  void bring_out() const {
    if (out_) out_->run();
  }

 private:
  const MemoryDesc theirs_;
  const Array array_;
  Array copy_;
  std::optional<OnednnPrimitive> in_, out_;
};

}  // namespace det::nn
