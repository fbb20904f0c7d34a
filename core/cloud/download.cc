#include "core/cloud/download.h"

#include <algorithm>
#include <charconv>

namespace det::cloud {

namespace {

using Again = Refusal::Again;

// "bytes 5-9/20", or "bytes */20" where there is nothing of that range.
struct ContentRange {
  std::optional<uint64_t> first, whole;
};

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

ContentRange content_range(const std::string &header) {
  const std::string_view text = header;
  const size_t slash = text.find('/');
  if (!text.starts_with("bytes ") || slash == text.npos) return {};
  const std::string_view range = text.substr(6, slash - 6);
  return {number_in(range.substr(0, range.find('-'))), number_in(text.substr(slash + 1))};
}

}  // namespace

Download::Download(uint64_t offset, uint64_t size, std::shared_ptr<http::BodySink> into)
    : offset_(offset), size_(std::min(size, UINT64_MAX - offset)), into_(std::move(into)) {}

std::string Download::next_range() {
  asked_ = offset_ + done_;
  // A connection may have been lost after the last byte: one more is asked for, and dropped.
  const uint64_t end = std::max(offset_ + size_, asked_ + 1);
  return "bytes=" + std::to_string(asked_) + "-" +
         (end == UINT64_MAX ? "" : std::to_string(end - 1));
}

void Download::begin() {
  if (!std::exchange(begun_, true)) into_->begin();
}

void Download::write(const char *bytes, size_t count) {
  const size_t wanted = std::min<uint64_t>(count, size_ - done_);
  if (wanted > 0) into_->write(bytes, wanted);
  done_ += wanted;
}

std::optional<Refusal> Download::check(const http::HttpResponse &answer) {
  const ContentRange range = content_range(answer.header("content-range"));
  // A body from elsewhere has gone into the sink already.
  if (answer.status == 206 ? range.first != asked_ : answer.status == 200 && asked_ > 0)
    return Refusal{Code::corrupt, Again::no, "the store sent other bytes than were asked for",
                   "check proxies between this machine and the store"};
  if (answer.status == 416 && offset_ + done_ > range.whole.value_or(asked_))
    return Refusal{Code::invalid, Again::no, "the object ends before that range", ""};
  const uint64_t end = std::min(offset_ + size_, range.whole.value_or(UINT64_MAX));
  if (answer.status == 206 && range.whole && offset_ + done_ < end)
    return Refusal{Code::unavailable, Again::soon, "the answer ended early", ""};
  begin();
  return std::nullopt;
}

}  // namespace det::cloud
