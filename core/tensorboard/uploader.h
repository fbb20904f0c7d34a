// Brings TensorBoard files into a bucket while the run goes on, on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "core/base/log/log.h"
#include "core/tensorboard/files.h"

namespace det::tensorboard {

class Uploader {
 public:
  Uploader(std::shared_ptr<TensorboardFiles> files, std::shared_ptr<Logger> logger,
           std::chrono::milliseconds interval = std::chrono::seconds(30));
  Uploader(const Uploader &) = delete;
  Uploader &operator=(const Uploader &) = delete;
  ~Uploader();  // gives up what is not there yet

  // Something was written: it is uploaded within the interval. What fails is tried again with the
  // next one, and a warning tells of the first failure.
  void note_change();

  // Uploads the rest, for at most `limit`. False: it is not all there, which a warning told.
  bool finish(std::chrono::milliseconds limit);

 private:
  void run();
  void upload();

  const std::shared_ptr<TensorboardFiles> files_;
  const std::shared_ptr<Logger> logger_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool changed_ = false;
  bool finishing_ = false;
  bool giving_up_ = false;
  bool done_ = false;    // after finishing
  bool failed_ = false;  // the last upload
  std::thread thread_;   // from the first change on
};

}  // namespace det::tensorboard
