#include "core/context/tensorboard.h"

#include <string>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/base/text/utf8.h"
#include "core/tensorboard/event.h"
#include "core/tensorboard/value.h"

namespace det::context {

namespace {

constexpr size_t longest_tag = 4096;
constexpr size_t largest_event = 64U << 20U;
constexpr size_t largest_frame = 128;  // of an event, around its tag and content

double wall_time() { return static_cast<double>(now_us()) / 1e6; }

[[noreturn]] void refuse(const std::string &why) {
  throw Error(Code::invalid, "adding to TensorBoard: " + why);
}

[[noreturn]] void refuse_size(size_t size) {
  refuse(std::to_string(size) + " bytes in one event; give at most " +
         std::to_string(largest_event));
}

}  // namespace

void TensorboardContext::check(std::string_view tag, int64_t step) const {
  lifetime_.check();
  if (events_ == nullptr || !files_.keeps()) [[unlikely]]
    throw Error(Code::state,
                "adding to TensorBoard: in the automatic mode the files of the chief are kept and "
                "no others; call it on rank 0 only, or choose the manual mode when starting the "
                "core");
  if (tag.empty() || tag.size() > longest_tag) [[unlikely]]
    refuse("a tag of " + std::to_string(tag.size()) + " bytes; give 1 to " +
           std::to_string(longest_tag));
  if (!is_utf8(tag)) [[unlikely]]
    refuse("the tag is not in UTF-8");
  if (step < 0) [[unlikely]]
    refuse("step " + std::to_string(step) + " of '" + std::string(tag) + "'; steps count from 0");
}

void TensorboardContext::add_scalar(std::string_view tag, int64_t step, double value) {
  check(tag, step);
  const profiler::SampledLibraryCall timed(regions_);
  events_->add(tag.size() + largest_frame, [&](std::string &out) {
    tensorboard::append_scalar_event(out, wall_time(), step, tag, static_cast<float>(value));
  });
  lifetime_.check();  // a close meanwhile may not have seen it
}

void TensorboardContext::add_histogram(std::string_view tag, int64_t step,
                                       const tensorboard::Histogram &histogram) {
  check(tag, step);
  const profiler::LibraryCall timed(regions_);
  tensorboard::check_histogram(histogram);
  add_counted(tag, step, histogram);
}

void TensorboardContext::add_counted(std::string_view tag, int64_t step,
                                     const tensorboard::Histogram &histogram) {
  add(tag, step, tensorboard::histogram_value(histogram));
}

void TensorboardContext::add_text(std::string_view tag, int64_t step, std::string_view text) {
  check(tag, step);
  const profiler::LibraryCall timed(regions_);
  if (text.size() > largest_event) refuse_size(text.size());
  if (!is_utf8(text)) refuse("the text of '" + std::string(tag) + "' is not in UTF-8");
  add(tag, step, tensorboard::text_value(text));
}

void TensorboardContext::add_image(std::string_view tag, int64_t step, std::string_view encoded) {
  check(tag, step);
  const profiler::LibraryCall timed(regions_);
  if (encoded.size() > largest_event) refuse_size(encoded.size());
  add(tag, step, tensorboard::image_value(tensorboard::read_image(encoded)));
}

void TensorboardContext::add_pixels(std::string_view tag, int64_t step,
                                    const tensorboard::Pixels &pixels) {
  check(tag, step);
  const profiler::LibraryCall timed(regions_);
  add(tag, step, tensorboard::image_value(tensorboard::encode_png(pixels, largest_event)));
}

void TensorboardContext::add(std::string_view tag, int64_t step, std::string_view content) {
  if (content.size() > 2 * largest_event) refuse_size(content.size());
  events_->add(tag.size() + content.size() + largest_frame, [&](std::string &out) {
    tensorboard::append_value_event(out, wall_time(), step, tag, content);
  });
  lifetime_.check();
}

void TensorboardContext::flush(std::optional<std::chrono::milliseconds> timeout) {
  lifetime_.check();
  const profiler::LibraryCall timed(regions_);
  if (events_ != nullptr) events_->flush(timeout);
}

std::filesystem::path TensorboardContext::path() {
  lifetime_.check();
  return files_.path();
}

void TensorboardContext::upload(const storage::Selector &selector,
                                const tensorboard::Mangler &mangler) {
  flush(std::nullopt);
  const profiler::LibraryCall timed(regions_);
  files_.upload(selector, mangler);
}

}  // namespace det::context
