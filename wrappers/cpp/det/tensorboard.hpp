// Shows your own data in TensorBoard, beside the reported metrics.
#pragma once

#include <det/tensorboard.h>
#include <det/detail/callbacks.hpp>
#include <det/error.hpp>

#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

namespace det {
inline namespace v1 {

// Bucket i counts the values below limits[i] that are in no bucket before it.
struct Histogram {
  std::vector<double> limits;
  std::vector<double> counts;  // the same number
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;
};

// A view borrowed from the core.
class Tensorboard {
 public:
  explicit Tensorboard(det_tensorboard_context *tensorboard) noexcept : tensorboard_(tensorboard) {}

  void add_scalar(Text tag, int64_t step, double value, OnFailure on = {}) const {
    detail::call(on, det_tensorboard_add_scalar, tensorboard_, tag.c_str(), step, value);
  }

  // Takes any contiguous range of double or float.
  template <class Values>
  auto add_histogram(Text tag, int64_t step, const Values &values, OnFailure on = {}) const
      -> decltype(std::data(values), void()) {
    using Value = std::remove_cv_t<std::remove_reference_t<decltype(*std::data(values))>>;
    static_assert(std::is_same_v<Value, double> || std::is_same_v<Value, float>,
                  "the values of a histogram are double or float");
    if constexpr (std::is_same_v<Value, double>)
      detail::call(on, det_tensorboard_add_histogram, tensorboard_, tag.c_str(), step,
                   std::data(values), std::size(values));
    else
      detail::call(on, det_tensorboard_add_histogram_float, tensorboard_, tag.c_str(), step,
                   std::data(values), std::size(values));
  }
  void add_histogram(Text tag, int64_t step, const Histogram &histogram, OnFailure on = {}) const {
    det_histogram given = DET_HISTOGRAM_INIT;
    given.limits = histogram.limits.data();
    given.counts = histogram.counts.data();
    // None if the numbers differ. The library rejects that.
    given.count = histogram.limits.size() == histogram.counts.size() ? histogram.limits.size() : 0;
    given.min = histogram.min;
    given.max = histogram.max;
    given.sum = histogram.sum;
    given.sum_squares = histogram.sum_squares;
    detail::call(on, det_tensorboard_add_histogram_buckets, tensorboard_, tag.c_str(), step,
                 &given);
  }

  void add_text(Text tag, int64_t step, Text text, OnFailure on = {}) const {
    detail::call(on, det_tensorboard_add_text, tensorboard_, tag.c_str(), step, text.c_str());
  }

  // Takes a PNG or JPEG file.
  void add_image(Text tag, int64_t step, std::string_view encoded, OnFailure on = {}) const {
    detail::call(on, det_tensorboard_add_image, tensorboard_, tag.c_str(), step, encoded.data(),
                 encoded.size());
  }
  // Takes rows from the top, without gaps, with 8 bits a channel: 1 (grey) to 4 (RGBA).
  void add_pixels(Text tag, int64_t step, const void *pixels, int32_t width, int32_t height,
                  int32_t channels, OnFailure on = {}) const {
    detail::call(on, det_tensorboard_add_pixels, tensorboard_, tag.c_str(), step, pixels, width,
                 height, channels);
  }

  // Waits until all data added before are in the event file.
  void flush(Timeout timeout = {}, OnFailure on = {}) const {
    detail::call(on, det_tensorboard_flush, tensorboard_, timeout.capi());
  }

  [[nodiscard]] det_tensorboard_context *capi() const noexcept { return tensorboard_; }

 private:
  det_tensorboard_context *tensorboard_;
};

}  // namespace v1
}  // namespace det
