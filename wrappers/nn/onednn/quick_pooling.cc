// The largest of windows, many channels at once: which element of its window each is from is kept
// in a byte.
#include <algorithm>
#include <cstdint>

#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/reference/reference_kernels.h"
#include "wrappers/nn/reference/window_walk.h"
#include "wrappers/nn/vectorised.h"

namespace det::nn {

namespace {

constexpr uint8_t none_yet = 255;

// NaN is larger than all numbers, so that it is not lost; of equal ones the first is the largest.
DET_VECTORISED
void take_larger(const float *x, float *y, uint8_t *from, uint8_t place, size_t channels) {
  for (size_t c = 0; c < channels; ++c) {
    const bool is_larger = from[c] == none_yet || x[c] > y[c] || x[c] != x[c];
    y[c] = is_larger ? x[c] : y[c];
    from[c] = is_larger ? place : from[c];
  }
}

DET_VECTORISED
void give_back(const float *dy, const uint8_t *from, uint8_t place, float *dx, size_t channels) {
  for (size_t c = 0; c < channels; ++c) dx[c] += from[c] == place ? dy[c] : 0;
}

class QuickMaxPooling : public ReferenceKernel<PoolingOp> {
 public:
  QuickMaxPooling(const PoolingOp &op, const Operands &operands)
      : ReferenceKernel(op, operands),
        channels_(static_cast<size_t>(output().shape()[3])),
        from_(output().size()) {}

  void forward() override {
    std::fill(from_.begin(), from_.end(), none_yet);
    for_each([&](size_t to, size_t x, size_t in_window) {
      take_larger(input(0).data() + x, output().data() + to, from_.data() + to,
                  static_cast<uint8_t>(in_window), channels_);
    });
  }

  void backward() override {
    std::fill_n(input_gradient(0).data(), input_gradient(0).size(), 0.0F);
    for_each([&](size_t to, size_t x, size_t in_window) {
      give_back(output_gradient().data() + to, from_.data() + to, static_cast<uint8_t>(in_window),
                input_gradient(0).data() + x, channels_);
    });
  }

 private:
  // visit(first y, first x of its channels, number within the window)
  template <class Visit>
  void for_each(const Visit &visit) const {
    for_each_place(op_.window, input(0).shape(), output().shape(),
                   [&](size_t to, size_t from, size_t in_window) {
                     visit(to * channels_, from * channels_, in_window);
                   });
  }

  const size_t channels_;
  std::vector<uint8_t> from_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const PoolingOp &op, const Operands &operands,
                                      const OnednnContextPtr &) {
  const bool fits_a_byte = op.window.size[0] * op.window.size[1] < none_yet;
  if (op.pooling != Pooling::max || !fits_a_byte) return nullptr;
  return std::make_unique<QuickMaxPooling>(op, operands);
}

}  // namespace det::nn
