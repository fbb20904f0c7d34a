#include "wrappers/nn/onednn/sums_gradient.h"

#include "core/base/vectorised.h"
#include "wrappers/nn/arithmetic/element_functions.h"
#include "wrappers/nn/onednn/shares.h"

namespace det::nn {

namespace {

DET_VECTORISED
void stop_at_relu(const float *y, float *dy, size_t count) {
  for (size_t i = 0; i < count; ++i) dy[i] = y[i] > 0 ? dy[i] : 0;
}

bool is_in_place(Activation activation) {
  return activation == Activation::linear || activation == Activation::relu;
}

}  // namespace

SumsGradient::SumsGradient(Activation activation, const Array &y, const Array &dy, bool is_wanted,
                           const OnednnContext &context)
    : activation_(activation),
      y_(y),
      dy_(dy),
      sums_(is_in_place(activation) || !is_wanted ? dy : Array(y.type())),
      shares_(shares_of(context, y.size())) {}

void SumsGradient::find() const {
  if (activation_ == Activation::linear) return;
  const float *y = y_.data();
  const float *dy = dy_.data();
  float *sums = sums_.data();
  for_each_share(shares_, y_.size(), [&](size_t, size_t begin, size_t end) {
    if (activation_ == Activation::relu) return stop_at_relu(y + begin, sums + begin, end - begin);
    for (size_t i = begin; i < end; ++i) sums[i] = dy[i] * derivative(activation_, 0, y[i]);
  });
}

}  // namespace det::nn
