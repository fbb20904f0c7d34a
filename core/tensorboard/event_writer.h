// Turns reported metrics into events.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/base/log.h"
#include "core/base/report.h"
#include "core/tensorboard/event_file.h"

namespace det::tensorboard {

// Not thread-safe: one thread writes.
class EventWriter {
 public:
  EventWriter(std::shared_ptr<EventFile> file, std::shared_ptr<Logger> logger)
      : file_(std::move(file)), logger_(std::move(logger)) {}

  // Writes the numbers of training and validation reports; other groups and kinds are no scalars.
  // Everything is with the operating system on return. Never throws for a full disk and the like:
  // plots must not stop training. It warns, once until it works again, and drops the events.
  void write(std::span<const Report> reports);

 private:
  void append(const Report &report);
  void append_json(const Report &report);
  void append_scalar(const Report &report, int64_t step, std::string_view name, double value);

  const std::shared_ptr<EventFile> file_;
  const std::shared_ptr<Logger> logger_;
  std::string events_;  // of the reports being written
  std::string tag_;
  bool warned_ = false;
};

}  // namespace det::tensorboard
