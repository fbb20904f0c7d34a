// A pipe in place of a file descriptor, and the thread that passes on what comes through it.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "core/base/unshared_fd.h"
#include "core/base/wake.h"

namespace det::context {

class PassedStream : public std::enable_shared_from_this<PassedStream> {
 public:
  using Take = std::function<void(std::string_view bytes)>;

  // `fd` is open. `take` sees all bytes after they have been passed on, until stop(); on another
  // thread.
  static std::shared_ptr<PassedStream> begin(int fd, Take take);

  // Puts the file descriptor back, unless the program has replaced it, and returns when `take` has
  // had what was written before, or after `limit`. Passing on ends with the last who writes.
  void stop(std::chrono::milliseconds limit);

 private:
  PassedStream(int fd, Take take);
  UnsharedFd replace();  // gives the pipe's reading end
  void restore();
  void run();
  size_t pass(size_t most, bool copied);              // 0: nobody writes, or nobody reads, any more
  bool pass_what_is_there();                          // false: then
  bool write_original(std::string_view bytes) const;  // false: nobody reads there any more

  const int fd_;
  const Take take_;
  const UnsharedFd original_;
  UnsharedFd reading_;  // of the thread: in a child the pipe would fill, since nobody empties it
  struct stat before_ {
  }, pipe_{};
  const Wake stopping_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool takes_ = true;
  bool drained_ = false;  // of what was written before stop()
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace det::context
