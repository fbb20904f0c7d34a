#include <det/tensorboard.h>

#include "capi/guard.h"
#include "capi/handles.h"

namespace {

det::context::TensorboardContext &impl_of(det_tensorboard_context *tensorboard) {
  return deref(tensorboard, "tensorboard").impl;
}

template <class T>
std::span<const T> list(const T *first, size_t count, const char *name) {
  if (counted(count, "count") > 0) deref(first, name);
  return {first, count};
}

}  // namespace

det_status det_tensorboard_add_scalar(det_tensorboard_context *tensorboard, const char *tag,
                                      int64_t step, double value, det_error *err) noexcept {
  return guarded(err, [&] { impl_of(tensorboard).add_scalar(text(tag, "tag"), step, value); });
}

det_status det_tensorboard_add_histogram(det_tensorboard_context *tensorboard, const char *tag,
                                         int64_t step, const double *values, size_t count,
                                         det_error *err) noexcept {
  return guarded(err, [&] {
    impl_of(tensorboard).add_histogram(text(tag, "tag"), step, list(values, count, "values"));
  });
}

det_status det_tensorboard_add_histogram_float(det_tensorboard_context *tensorboard,
                                               const char *tag, int64_t step, const float *values,
                                               size_t count, det_error *err) noexcept {
  return guarded(err, [&] {
    impl_of(tensorboard).add_histogram(text(tag, "tag"), step, list(values, count, "values"));
  });
}

det_status det_tensorboard_add_histogram_buckets(det_tensorboard_context *tensorboard,
                                                 const char *tag, int64_t step,
                                                 const det_histogram *histogram,
                                                 det_error *err) noexcept {
  return guarded(err, [&] {
    const auto given = read_options<det_histogram>(&deref(histogram, "histogram"),
                                                   DET_HISTOGRAM_INIT, "histogram");
    const std::span<const double> limits = list(given.limits, given.count, "histogram.limits");
    const std::span<const double> counts = list(given.counts, given.count, "histogram.counts");
    impl_of(tensorboard)
        .add_histogram(text(tag, "tag"), step,
                       det::tensorboard::Histogram{.min = given.min,
                                                   .max = given.max,
                                                   .sum = given.sum,
                                                   .sum_squares = given.sum_squares,
                                                   .limits = {limits.begin(), limits.end()},
                                                   .counts = {counts.begin(), counts.end()}});
  });
}

det_status det_tensorboard_add_text(det_tensorboard_context *tensorboard, const char *tag,
                                    int64_t step, const char *given, det_error *err) noexcept {
  return guarded(
      err, [&] { impl_of(tensorboard).add_text(text(tag, "tag"), step, text(given, "text")); });
}

det_status det_tensorboard_add_image(det_tensorboard_context *tensorboard, const char *tag,
                                     int64_t step, const void *encoded, size_t size,
                                     det_error *err) noexcept {
  return guarded(err, [&] {
    const auto *bytes = static_cast<const char *>(encoded);
    impl_of(tensorboard).add_image(text(tag, "tag"), step, {&deref(bytes, "encoded"), size});
  });
}

det_status det_tensorboard_add_pixels(det_tensorboard_context *tensorboard, const char *tag,
                                      int64_t step, const void *pixels, int32_t width,
                                      int32_t height, int32_t channels, det_error *err) noexcept {
  return guarded(err, [&] {
    const auto *first = static_cast<const unsigned char *>(pixels);
    impl_of(tensorboard)
        .add_pixels(text(tag, "tag"), step, {&deref(first, "pixels"), width, height, channels});
  });
}

det_status det_tensorboard_flush(det_tensorboard_context *tensorboard, det_timeout timeout_ms,
                                 det_error *err) noexcept {
  return guarded(err, [&] {
    constexpr std::chrono::seconds usual{60};
    impl_of(tensorboard).flush(limit_from(timeout_ms, usual, "timeout_ms"));
  });
}
