// Log lines to whoever the host has named in the options of a core or a client.
#pragma once

#include <det/log.h>

#include <memory>
#include <string>
#include <utility>

#include "capi/guard.h"
#include "core/base/log/log.h"
#include "core/base/log/log_queue.h"

struct det_log_queue {
  std::shared_ptr<det::LogQueue> impl;  // cores and clients have it as well
};

// DET_LOG_LEVEL_DEFAULT is `usual`.
det::LogLevel log_level_from(det_log_level given, det::LogLevel usual, const char *name);
det_log_level to_c(det::LogLevel level);

// The line as the host sees it; its texts are borrowed from `line` and `source`.
det_log_line to_c(const det::LogLine &line, const std::string &source);

// The host's callback and what it is called with, which `destroy` gets when the last copy is gone.
class HostLog {
 public:
  HostLog(det_log_callback log, void *user_data, void (*destroy)(void *), det_log_queue *queue);

  // Empty: there is none. Throws where there are both.
  det::LogCallback callback() const;
  std::shared_ptr<det::LogQueue> queue() const { return queue_; }

 private:
  det_log_callback log_;
  std::shared_ptr<void> user_data_;
  std::shared_ptr<det::LogQueue> queue_;
};

template <class Options>
HostLog host_log_from(const Options &given) {
  return {given.log, given.log_user_data, given.log_destroy, given.log_queue};
}

// After this the host is not called any more.
void end_host_log(const det::Logger &logger);
