#include "core/tensorboard/uploader.h"

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/storage/progress.h"

namespace det::tensorboard {

Uploader::Uploader(std::shared_ptr<TensorboardFiles> files, std::shared_ptr<Logger> logger,
                   std::chrono::milliseconds interval)
    : files_(std::move(files)), logger_(std::move(logger)), interval_(interval) {}

Uploader::~Uploader() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = giving_up_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Uploader::note_change() {
  const std::lock_guard lock(mutex_);
  if (finishing_) return;
  changed_ = true;
  if (!thread_.joinable()) thread_ = start_thread("det-tboard", [this] { run(); });
}

bool Uploader::finish(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  finishing_ = true;
  if (!thread_.joinable()) return true;
  woken_.notify_all();
  const bool in_time = woken_.wait_for(lock, limit, [this] { return done_; });
  if (!in_time)
    logger_->warning("uploading TensorBoard files: not all of them could be uploaded within " +
                     std::to_string(limit.count()) + " ms; the master has their metrics");
  giving_up_ = !in_time;
  return in_time && !failed_;
}

void Uploader::run() {
  std::unique_lock lock(mutex_);
  while (!finishing_) {
    woken_.wait_for(lock, interval_, [this] { return finishing_; });
    if (!std::exchange(changed_, false) || giving_up_) continue;
    lock.unlock();
    upload();
    lock.lock();
  }
  if (changed_ && !giving_up_) {
    lock.unlock();
    upload();
    lock.lock();
  }
  done_ = true;
  woken_.notify_all();
}

void Uploader::upload() {
  bool failed = false;
  try {
    // Whoever gives up ends what is under way.
    storage::Progress progress([this](const storage::ProgressCount &) {
      const std::lock_guard lock(mutex_);
      if (giving_up_) throw Error(Code::state, "uploading TensorBoard files: the run is over");
    });
    files_->sync(&progress);
  } catch (const std::exception &failure) {
    failed = true;
    const std::lock_guard lock(mutex_);
    if (!failed_ && !giving_up_)
      logger_->warning(std::string("uploading TensorBoard files: ") + failure.what() +
                       "; they are kept here, and tried again");
  }
  const std::lock_guard lock(mutex_);
  failed_ = failed;
  changed_ = changed_ || failed;
}

}  // namespace det::tensorboard
