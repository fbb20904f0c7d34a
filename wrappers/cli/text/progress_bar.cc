#include "wrappers/cli/text/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "wrappers/cli/text/field_text.h"

namespace det::cli {

namespace {

constexpr const char *clear_line = "\r\033[K";

bool can_draw() {
  const char *kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

size_t columns_of_stderr() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bytes_text(int64_t bytes) { return bytes_of(Json(bytes)); }

}  // namespace

ProgressBar::ProgressBar(std::string doing) : doing_(std::move(doing)), shown_(can_draw()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs(clear_line, stderr);
}

int32_t ProgressBar::tell(const det_progress *progress, void *user_data) {
  auto &bar = *static_cast<ProgressBar *>(user_data);
  if (!bar.shown_) return 0;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - bar.began_;
  const std::string text = line(bar.doing_, *progress, took.count(), columns_of_stderr() - 1);
  std::fputs((clear_line + text).c_str(), stderr);
  std::fflush(stderr);
  bar.drawn_ = true;
  return 0;
}

std::string ProgressBar::line(const std::string &doing, const det_progress &progress,
                              double seconds, size_t columns) {
  const int64_t total = std::max<int64_t>(progress.total_bytes, 0);
  const double done =
      total > 0 ? std::min(1.0, static_cast<double>(progress.bytes) / static_cast<double>(total))
                : 0;
  const double rate = seconds > 0 ? static_cast<double>(progress.bytes) / seconds : 0;
  std::string facts = bytes_text(progress.bytes);
  if (total > 0) facts += " of " + bytes_text(total);
  if (rate >= 1) {
    facts += ", " + bytes_text(static_cast<int64_t>(rate)) + "/s";
    if (total > progress.bytes)
      facts += ", " +
               std::to_string(
                   static_cast<int64_t>(static_cast<double>(total - progress.bytes) / rate) + 1) +
               " s left";
  }
  const std::string percent =
      total > 0 ? "  " + std::to_string(static_cast<int>(done * 100)) + " %" : "";
  std::string text = doing + percent + "  ";
  constexpr size_t least = 10, most = 40;
  const size_t taken = text.size() + facts.size() + 4;
  if (total > 0 && taken + least <= columns) {
    const size_t width = std::min(most, columns - taken);
    const auto filled = static_cast<size_t>(done * static_cast<double>(width));
    text += "[" + std::string(filled, '#') + std::string(width - filled, ' ') + "]  ";
  }
  return (text + facts).substr(0, columns);
}

}  // namespace det::cli
