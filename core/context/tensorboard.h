// What the program itself shows in TensorBoard, beside the metrics that it reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "core/context/lifetime.h"
#include "core/profiler/regions/regions.h"
#include "core/tensorboard/event_queue.h"
#include "core/tensorboard/files.h"
#include "core/tensorboard/histogram.h"
#include "core/tensorboard/image.h"

namespace det::context {

class TensorboardContext {
 public:
  // Without a queue there are files alone.
  TensorboardContext(const Lifetime &lifetime, tensorboard::TensorboardFiles &files,
                     profiler::Regions &regions, tensorboard::EventQueue *events = nullptr)
      : lifetime_(lifetime), files_(files), regions_(regions), events_(events) {}

  void add_scalar(std::string_view tag, int64_t step, double value);
  template <class Number>
  void add_histogram(std::string_view tag, int64_t step, std::span<const Number> values) {
    check(tag, step);
    const profiler::LibraryCall timed(regions_);
    add_counted(tag, step, tensorboard::histogram_of(values));
  }
  void add_histogram(std::string_view tag, int64_t step, const tensorboard::Histogram &histogram);
  void add_text(std::string_view tag, int64_t step, std::string_view text);
  void add_image(std::string_view tag, int64_t step, std::string_view encoded);
  void add_pixels(std::string_view tag, int64_t step, const tensorboard::Pixels &pixels);

  // Waits until what was added before is in its file.
  void flush(std::optional<std::chrono::milliseconds> timeout);

  std::filesystem::path path();
  void upload(const storage::Selector &selector, const tensorboard::Mangler &mangler);

 private:
  void check(std::string_view tag, int64_t step) const;
  void add_counted(std::string_view tag, int64_t step, const tensorboard::Histogram &histogram);
  void add(std::string_view tag, int64_t step, std::string_view content);

  const Lifetime &lifetime_;
  tensorboard::TensorboardFiles &files_;
  profiler::Regions &regions_;
  tensorboard::EventQueue *const events_;
};

}  // namespace det::context
