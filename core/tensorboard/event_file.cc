#include "core/tensorboard/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/process/process.h"
#include "core/tensorboard/event.h"

namespace det::tensorboard {

void EventFile::append(std::string_view events) {
  const std::lock_guard guard(mutex_);
  try {
    if (!file_) open(clock_() / 1'000'000);
    write_all(file_.get(), events, name_);
    size_ += static_cast<off_t>(events.size());
  } catch (...) {
    abandon();
    throw;
  }
}

bool EventFile::is_begun() {
  const std::lock_guard guard(mutex_);
  return begun_;
}

// It must not end in half a record.
void EventFile::abandon() {
  if (!file_) return;
  if (size_ == 0) unlinkat(directory_.get(), std::filesystem::path(name_).filename().c_str(), 0);
  else [[maybe_unused]] const int cut = ftruncate(file_.get(), size_);
  file_ = Fd();
}

void EventFile::open(int64_t second) {
  const std::filesystem::path shown = files_->path();
  directory_ = files_->open();
  // The process, the run and a number keep apart what is made within one second. A bucket, whose
  // names nobody can take here, has the files of all runs of a trial in one place.
  const std::string begin = "events.out.tfevents." + std::to_string(second) + "." + host_name() +
                            "." + std::to_string(getpid()) + "." +
                            std::to_string(files_->run_id()) + ".";
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
  int number = 0;
  do {
    const std::string leaf = begin + std::to_string(number++);
    name_ = (shown / leaf).string();
    file_ = Fd(openat(directory_.get(), leaf.c_str(), flags, default_file_mode));
  } while (!file_ && errno == EEXIST);
  if (!file_) OsFailure{errno}.raise("making '" + name_ + "'");
  size_ = 0;
  std::string head;
  append_version_event(head, static_cast<double>(second));
  head += head_;
  write_all(file_.get(), head, name_);
  size_ = static_cast<off_t>(head.size());
  begun_ = true;
}

}  // namespace det::tensorboard
