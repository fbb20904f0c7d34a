// The event file of a run.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/tensorboard/files.h"

namespace det::tensorboard {

// Made when the first event is there to write, it serves the whole run: TensorBoard follows one
// file of a directory at a time. It grows where it is kept, so there is nothing to upload in
// between. Any thread.
class EventFile {
 public:
  // `head`: whole records with which every file begins, behind its version.
  explicit EventFile(std::shared_ptr<const TensorboardFiles> files, std::string head = {},
                     std::function<int64_t()> clock = now_us)
      : files_(std::move(files)), head_(std::move(head)), clock_(std::move(clock)) {}

  // Whole records, which are with the operating system on return. Throws for a full disk and the
  // like: then none of them is there, and the next ones go to a file of their own.
  void append(std::string_view events);

  bool is_begun();

 private:
  void open(int64_t second);
  void abandon();

  const std::shared_ptr<const TensorboardFiles> files_;
  const std::string head_;
  const std::function<int64_t()> clock_;
  std::mutex mutex_;
  Fd file_;
  Fd directory_;  // of the file
  std::string name_;
  off_t size_ = 0;  // of whole records
  bool begun_ = false;
};

}  // namespace det::tensorboard
