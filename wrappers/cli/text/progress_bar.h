// How far a transfer is, on one line of a terminal that is drawn over and gone afterwards.
#pragma once

#include <det/checkpoint.h>

#include <chrono>
#include <string>

#include "wrappers/cli/text/terminal.h"

namespace det::cli {

class ProgressBar {
 public:
  // Drawn on standard error, where that is a terminal whose cursor can be moved.
  explicit ProgressBar(std::string doing);
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &operator=(const ProgressBar &) = delete;
  ~ProgressBar();

  // A det_progress_callback; `user_data` is the bar.
  static int32_t tell(const det_progress *progress, void *user_data);

  // "storing  42 %  [####      ]  1.2 of 2.9 GiB, 310 MiB/s, 5 s left"
  static std::string line(const std::string &doing, const det_progress &progress, double seconds,
                          size_t columns);

 private:
  const std::string doing_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  const bool shown_;
  bool drawn_ = false;
};

}  // namespace det::cli
