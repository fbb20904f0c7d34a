// Turns reported metrics into TensorBoard event files.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/report.h"
#include "core/tensorboard/files.h"

namespace det::tensorboard {

// Not thread-safe: one thread writes. The file is made when the first event is there to write, and
// serves the whole run: it grows where it is kept, so there is nothing to upload in between.
class EventWriter {
 public:
  EventWriter(std::shared_ptr<const TensorboardFiles> files, std::shared_ptr<Logger> logger,
              std::function<int64_t()> clock = now_us);

  // Writes the numbers of training and validation reports; other groups and kinds are no scalars.
  // Everything is with the operating system on return. Never throws for a full disk and the like:
  // plots must not stop training. It warns, once until it works again, and drops the events.
  void write(std::span<const Report> reports);

 private:
  void append(const Report &report);
  void append_json(const Report &report);
  void append_scalar(const Report &report, int64_t step, std::string_view name, double value);
  void put();
  void open(int64_t second);
  void abandon_file();

  const std::shared_ptr<const TensorboardFiles> files_;
  const std::shared_ptr<Logger> logger_;
  const std::function<int64_t()> clock_;
  std::string events_;  // of the reports being written
  std::string tag_;
  Fd file_;
  Fd directory_;  // of the file
  std::string name_;
  off_t size_ = 0;  // of whole records
  bool warned_ = false;
};

}  // namespace det::tensorboard
