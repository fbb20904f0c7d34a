#include "wrappers/nn/cuda/direct_convolution.h"

#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

// One dimension of the image, and of its windows.
struct DirectConvolution::Dimension {
  int64_t size, stride, dilation, before, image, count;

  // The element of the image that a place of a window is on, or -1 where that is padded.
  DET_HOST_DEVICE int64_t element(int64_t window, int64_t place) const {
    const int64_t at = window * stride - before + place * dilation;
    return at < image ? at : -1;
  }
  // The window whose `place` is on an element, or -1.
  DET_HOST_DEVICE int64_t window(int64_t element, int64_t place) const {
    const int64_t begin = element + before - place * dilation;
    if (begin < 0 || begin % stride != 0) return -1;
    return begin / stride < count ? begin / stride : -1;
  }
};

struct DirectConvolution::Sizes {
  Dimension down, across;
  int64_t batch, groups, in, out;  // channels of one group

  DET_HOST_DEVICE int64_t x(int64_t n, int64_t row, int64_t column) const {
    return ((n * down.image + row) * across.image + column) * groups * in;
  }
  DET_HOST_DEVICE int64_t y(int64_t n, int64_t row, int64_t column) const {
    return ((n * down.count + row) * across.count + column) * groups * out;
  }
  DET_HOST_DEVICE int64_t kernel(int64_t i, int64_t j, int64_t channel) const {
    return ((i * across.size + j) * in + channel) * groups * out;
  }
};

DirectConvolution::DirectConvolution(CudaContextPtr context, const Window &window, int64_t groups,
                                     const Shape &x, const Shape &kernel, const Shape &y)
    : context_(std::move(context)),
      sizes_(std::make_shared<Sizes>(Sizes{
          {window.size[0], window.strides[0], window.dilation[0], window.before[0], x[1], y[1]},
          {window.size[1], window.strides[1], window.dilation[1], window.before[1], x[2], y[2]},
          x[0],
          groups,
          kernel[2],
          kernel[3] / groups})) {}

void DirectConvolution::forward(const float *x, const float *kernel, const float *bias,
                                float *y) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.y(s.batch, 0, 0));
  for_each(*context_, count, [=] DET_DEVICE(size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.out;
    const int64_t channel = i % channels;
    const int64_t column = i / channels % s.across.count;
    const int64_t row = i / channels / s.across.count % s.down.count;
    const int64_t n = i / channels / s.across.count / s.down.count;
    float sum = bias != nullptr ? bias[channel] : 0;
    for (int64_t p = 0; p < s.down.size; ++p)
      for (int64_t q = 0; q < s.across.size; ++q) {
        const int64_t r = s.down.element(row, p);
        const int64_t c = s.across.element(column, q);
        if (r < 0 || c < 0) continue;
        const float *from = x + s.x(n, r, c) + channel / s.out * s.in;
        for (int64_t k = 0; k < s.in; ++k) sum += from[k] * kernel[s.kernel(p, q, k) + channel];
      }
    y[i] = sum;
  });
}

void DirectConvolution::of_input(const float *sums, const float *kernel, float *dx) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.x(s.batch, 0, 0));
  for_each(*context_, count, [=] DET_DEVICE(size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.in;
    const int64_t group = i % channels / s.in;
    const int64_t column = i / channels % s.across.image;
    const int64_t row = i / channels / s.across.image % s.down.image;
    const int64_t n = i / channels / s.across.image / s.down.image;
    float sum = 0;
    for (int64_t p = 0; p < s.down.size; ++p)
      for (int64_t q = 0; q < s.across.size; ++q) {
        const int64_t r = s.down.window(row, p);
        const int64_t c = s.across.window(column, q);
        if (r < 0 || c < 0) continue;
        const float *from = sums + s.y(n, r, c) + group * s.out;
        const float *of = kernel + s.kernel(p, q, i % s.in) + group * s.out;
        for (int64_t k = 0; k < s.out; ++k) sum += from[k] * of[k];
      }
    dx[i] = sum;
  });
}

// A row of threads for each element of the kernel, which share the windows.
void DirectConvolution::of_kernel(const float *x, const float *sums, float *dkernel) const {
  const Sizes s = *sizes_;
  const auto count = static_cast<size_t>(s.kernel(s.down.size, 0, 0));
  const auto windows = static_cast<size_t>(s.batch * s.down.count * s.across.count);
  for_each_row(*context_, count, windows, [=] DET_DEVICE(const RowGroup &group, size_t at) {
    const auto i = static_cast<int64_t>(at);
    const int64_t channels = s.groups * s.out;
    const int64_t channel = i % channels;
    const int64_t k = i / channels % s.in;
    const int64_t q = i / channels / s.in % s.across.size;
    const int64_t p = i / channels / s.in / s.across.size;
    const float sum = group.sum(windows, [&](size_t w) {
      const auto window = static_cast<int64_t>(w);
      const int64_t column = window % s.across.count;
      const int64_t row = window / s.across.count % s.down.count;
      const int64_t n = window / s.across.count / s.down.count;
      const int64_t r = s.down.element(row, p);
      const int64_t c = s.across.element(column, q);
      if (r < 0 || c < 0) return 0.0F;
      return x[s.x(n, r, c) + channel / s.out * s.in + k] * sums[s.y(n, row, column) + channel];
    });
    if (group.is_first()) dkernel[i] = sum;
  });
}

}  // namespace det::nn
