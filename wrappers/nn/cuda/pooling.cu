#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"

namespace det::nn {

namespace {

// The windows of one dimension of an image.
struct Windows {
  int64_t size, stride, before, image, count;

  // Those elements of the image that are in a window: [first, end).
  DET_HOST_DEVICE int64_t first(int64_t window) const {
    const int64_t begin = window * stride - before;
    return begin < 0 ? 0 : begin;
  }
  DET_HOST_DEVICE int64_t end(int64_t window) const {
    const int64_t end = window * stride - before + size;
    return end < image ? end : image;
  }
  DET_HOST_DEVICE int64_t elements(int64_t window) const { return end(window) - first(window); }
  // Those windows that an element is in, likewise.
  DET_HOST_DEVICE int64_t first_with(int64_t element) const {
    const int64_t past = element + before - size;
    return past < 0 ? 0 : past / stride + 1;
  }
  DET_HOST_DEVICE int64_t end_with(int64_t element) const {
    const int64_t end = (element + before) / stride + 1;
    return end < count ? end : count;
  }
};

struct Images {
  struct Place {
    int64_t n, row, column, channel;
  };

  Windows down, across;
  int64_t channels;

  // The place of an element of y, and of x.
  DET_HOST_DEVICE Place window(size_t i) const { return place(i, down.count, across.count); }
  DET_HOST_DEVICE Place element(size_t i) const { return place(i, down.image, across.image); }
  DET_HOST_DEVICE Place place(size_t i, int64_t rows, int64_t columns) const {
    const auto at = static_cast<int64_t>(i);
    return {at / channels / columns / rows, at / channels / columns % rows, at / channels % columns,
            at % channels};
  }

  // visit(element) for each that is in the window of an element of y.
  template <class Visit>
  DET_DEVICE void each_element(size_t i, const Visit &visit) const {
    const Place at = window(i);
    for (int64_t r = down.first(at.row); r < down.end(at.row); ++r)
      for (int64_t c = across.first(at.column); c < across.end(at.column); ++c)
        visit(in_x(at.n, r, c, at.channel));
  }
  // visit(window, its elements) for each that an element of x is in.
  template <class Visit>
  DET_DEVICE void each_window(size_t i, const Visit &visit) const {
    const Place at = element(i);
    for (int64_t r = down.first_with(at.row); r < down.end_with(at.row); ++r)
      for (int64_t c = across.first_with(at.column); c < across.end_with(at.column); ++c)
        visit(in_y(at.n, r, c, at.channel), down.elements(r) * across.elements(c));
  }

  // Of an element of the image, and of a window, in their arrays.
  DET_HOST_DEVICE int64_t in_x(int64_t n, int64_t row, int64_t column, int64_t channel) const {
    return ((n * down.image + row) * across.image + column) * channels + channel;
  }
  DET_HOST_DEVICE int64_t in_y(int64_t n, int64_t row, int64_t column, int64_t channel) const {
    return ((n * down.count + row) * across.count + column) * channels + channel;
  }
};

Windows windows_of(const Window &window, size_t d, const Shape &x, const Shape &y) {
  return {window.size[d], window.strides[d], window.before[d], x[d + 1], y[d + 1]};
}

class PoolingKernel : public CudaKernel<PoolingOp> {
 public:
  PoolingKernel(const PoolingOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context),
        images_{windows_of(op.window, 0, input(0).shape(), output().shape()),
                windows_of(op.window, 1, input(0).shape(), output().shape()), output().shape()[3]} {
    if (op.pooling == Pooling::max)
      largest_ =
          context->device_memory().allocate(std::max<size_t>(output().size(), 1) * sizeof(int64_t));
  }

  void forward() override {
    if (op_.pooling == Pooling::max) take_largest();
    else take_mean();
  }

  void backward() override {
    if (op_.pooling == Pooling::max) give_to_largest();
    else give_to_all();
  }

  // The first of equal ones. NaN is larger than all numbers, so that it is not lost.
  void take_largest() const {
    const float *x = input(0).data();
    float *y = output().data();
    auto *const largest = reinterpret_cast<int64_t *>(largest_.get());
    const Images images = images_;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      int64_t place = -1;
      images.each_element(i, [&](int64_t here) {
        if (place < 0 || x[here] > x[place] || x[here] != x[here]) place = here;
      });
      largest[i] = place;
      y[i] = place < 0 ? 0 : x[place];
    });
  }

  void take_mean() const {
    const float *x = input(0).data();
    float *y = output().data();
    const Images images = images_;
    for_each(*context_, output().size(), [=] DET_DEVICE(size_t i) {
      float sum = 0;
      int64_t count = 0;
      images.each_element(i, [&](int64_t here) {
        sum += x[here];
        ++count;
      });
      y[i] = sum / static_cast<float>(count);
    });
  }

  // Each element asks the windows that it is in, so that there is one order of sums.
  void give_to_largest() const {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const auto *const largest = reinterpret_cast<const int64_t *>(largest_.get());
    const Images images = images_;
    for_each(*context_, input(0).size(), [=] DET_DEVICE(size_t i) {
      float sum = 0;
      images.each_window(i, [&](int64_t window, int64_t) {
        if (largest[window] == static_cast<int64_t>(i)) sum += dy[window];
      });
      dx[i] = sum;
    });
  }

  void give_to_all() const {
    const float *dy = output_gradient().data();
    float *dx = input_gradient(0).data();
    const Images images = images_;
    for_each(*context_, input(0).size(), [=] DET_DEVICE(size_t i) {
      float sum = 0;
      images.each_window(i, [&](int64_t window, int64_t elements) {
        sum += dy[window] / static_cast<float>(elements);
      });
      dx[i] = sum;
    });
  }

 private:
  const Images images_;
  std::shared_ptr<std::byte> largest_;  // where each result is from
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const PoolingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  return std::make_unique<PoolingKernel>(op, operands, context);
}

}  // namespace det::nn
