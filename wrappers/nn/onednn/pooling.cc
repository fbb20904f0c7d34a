// The largest of windows, many channels at once: which element of its window each is from is kept
// in a byte. oneDNN's is quicker (tests/bench/bench_nn_products) and loses NaN. The plain loops
// take four times as long.
#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/vectorised.h"
#include "wrappers/nn/onednn/onednn_kernels.h"
#include "wrappers/nn/onednn/shares.h"
#include "wrappers/nn/reference/reference_kernels.h"
#include "wrappers/nn/reference/window_walk.h"

namespace det::nn {

namespace {

constexpr size_t at_once = 16;  // channels at once, which is as many as fit into the widest vector
constexpr uint8_t nowhere = 255;

// Of a window: where its channels begin in the image, and which of the window it is.
struct Place {
  size_t at;
  uint8_t number;
};

// The elements of a window that are within the image, in order.
struct Places {
  const Place *begin, *end;
};

// NaN is larger than all numbers, so that it is not lost; of equal ones the first is the largest.
DET_VECTORISED
void take_largest(const float *x, Places window, float *y, uint8_t *from, size_t channels) {
  for (size_t c = 0; c < channels; c += at_once) {
    const size_t count = std::min(at_once, channels - c);
    std::array<float, at_once> largest{};
    std::array<int32_t, at_once> number{};
    for (size_t k = 0; k < at_once; ++k) number[k] = nowhere;
    for (const Place *place = window.begin; place != window.end; ++place) {
      const float *first = x + place->at + c;
      const int32_t here = place->number;
      const auto compare = [&](size_t k) {
        const bool is_larger =
            number[k] == nowhere || first[k] > largest[k] || first[k] != first[k];
        largest[k] = is_larger ? first[k] : largest[k];
        number[k] = is_larger ? here : number[k];
      };
      if (count == at_once)
        for (size_t k = 0; k < at_once; ++k) compare(k);
      else
        for (size_t k = 0; k < count; ++k) compare(k);
    }
    for (size_t k = 0; k < count; ++k) y[c + k] = largest[k];
    for (size_t k = 0; k < count; ++k) from[c + k] = static_cast<uint8_t>(number[k]);
  }
}

DET_VECTORISED
void give_back(const float *dy, const uint8_t *from, Places window, float *dx, size_t channels,
               bool adds) {
  for (size_t c = 0; c < channels; c += at_once) {
    const size_t count = std::min(at_once, channels - c);
    std::array<int32_t, at_once> number{};
    for (size_t k = 0; k < count; ++k) number[k] = from[c + k];
    for (const Place *place = window.begin; place != window.end; ++place) {
      float *first = dx + place->at + c;
      const int32_t here = place->number;
      const auto give = [&](size_t k) {
        const float part = number[k] == here ? dy[c + k] : 0;
        first[k] = adds ? first[k] + part : part;
      };
      if (count == at_once)
        for (size_t k = 0; k < at_once; ++k) give(k);
      else
        for (size_t k = 0; k < count; ++k) give(k);
    }
  }
}

class VectorisedMaxPooling : public OperationKernel<PoolingOp> {
 public:
  VectorisedMaxPooling(const PoolingOp &op, const Operands &operands, const OnednnContext &context)
      : OperationKernel(op, operands),
        channels_(static_cast<size_t>(output().shape()[3])),
        images_(static_cast<size_t>(output().shape()[0])),
        shares_(shares_of(context, input(0).size())),
        from_(output().size()) {
    Shape image = input(0).shape(), result = output().shape();
    image[0] = result[0] = 1;
    ends_.resize(static_cast<size_t>(result[1] * result[2]));
    for_each_place(op.window, image, result, [&](size_t to, size_t from, size_t in_window) {
      places_.push_back({from * channels_, static_cast<uint8_t>(in_window)});
      ends_[to] = places_.size();
    });
    for (size_t to = 1; to < ends_.size(); ++to) ends_[to] = std::max(ends_[to], ends_[to - 1]);
    tiles_ = covers_each_once(static_cast<size_t>(image[1] * image[2]));
  }

  void forward() override {
    for_each_window([](size_t) {},
                    [&](size_t image, Places window, size_t to) {
                      take_largest(input(0).data() + image, window, output().data() + to,
                                   from_.data() + to, channels_);
                    });
  }

  void backward() override {
    const size_t size = input(0).size() / images_;
    for_each_window(
        [&](size_t image) {
          if (!tiles_) std::fill_n(input_gradient(0).data() + image, size, 0.0F);
        },
        [&](size_t image, Places window, size_t to) {
          give_back(output_gradient().data() + to, from_.data() + to, window,
                    input_gradient(0).data() + image, channels_, !tiles_);
        });
  }

 private:
  bool covers_each_once(size_t elements) const {
    std::vector<bool> is_covered(elements);
    for (const Place &place : places_) is_covered[place.at / channels_] = true;
    return places_.size() == elements &&
           std::find(is_covered.begin(), is_covered.end(), false) == is_covered.end();
  }

  // begin(where an image begins), then visit(that, a window, where its results begin).
  template <class Begin, class Visit>
  void for_each_window(const Begin &begin, const Visit &visit) const {
    const size_t size = input(0).size() / images_;
    for_each_share(shares_, images_, [&](size_t, size_t first, size_t end) {
      for (size_t image = first; image < end; ++image) {
        begin(image * size);
        for (size_t to = 0; to < ends_.size(); ++to)
          visit(image * size,
                Places{places_.data() + (to == 0 ? 0 : ends_[to - 1]), places_.data() + ends_[to]},
                (image * ends_.size() + to) * channels_);
      }
    });
  }

  const size_t channels_, images_, shares_;
  std::vector<Place> places_;  // of all windows of an image
  std::vector<size_t> ends_;   // of each window among them
  bool tiles_ = false;         // each element of an image is in one window
  std::vector<uint8_t> from_;
};

}  // namespace

std::unique_ptr<Kernel> onednn_kernel(const PoolingOp &op, const Operands &operands,
                                      const OnednnContextPtr &context) {
  const bool fits_a_byte = op.window.size[0] * op.window.size[1] < nowhere;
  if (op.pooling != Pooling::max || !fits_a_byte || operands.outputs.at(0).size() == 0)
    return nullptr;
  return std::make_unique<VectorisedMaxPooling>(op, operands, *context);
}

}  // namespace det::nn
