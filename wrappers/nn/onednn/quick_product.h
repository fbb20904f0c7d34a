// A product of matrices that is taken again and again: by oneDNN, or by loops of our own where it
// is too small for what oneDNN prepares at each call.
#pragma once

#include <optional>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/reference/matrix.h"

namespace det::nn {

class QuickProduct {
 public:
  enum class Result { replaces, adds };  // what is in c before

  // c = a . b + bias, or c += a . b. What they point to, and the bias, which may be null, stay
  // where they are.
  QuickProduct(const OnednnContextPtr &context, const Matrix &a, const Matrix &b, const Matrix &c,
               Result result, float *bias = nullptr);

  void run() { run(a_.data, c_.data); }
  // On others in place of a and c, that lie as these do.
  void run(float *a, float *c);

 private:
  const Matrix a_, b_, c_;
  const Result result_;
  float *const bias_;
  std::optional<OnednnPrimitive> product_;
};

}  // namespace det::nn
