#include <det/log.h>

#include <cstdlib>
#include <new>

#include "capi/guard.h"
#include "capi/host_log.h"

det::LogLevel log_level_from(det_log_level given, det::LogLevel usual, const char *name) {
  if (given == DET_LOG_LEVEL_DEFAULT) return usual;
  if (given < DET_LOG_LEVEL_DEBUG || given > DET_LOG_LEVEL_ERROR)
    throw det::Error(det::Code::invalid, std::string(name) + " " + std::to_string(given) +
                                             " is none of DET_LOG_LEVEL_*");
  return static_cast<det::LogLevel>(given - DET_LOG_LEVEL_DEBUG);
}

det_log_level to_c(det::LogLevel level) {
  static_assert(static_cast<int>(det::LogLevel::error) + DET_LOG_LEVEL_DEBUG ==
                DET_LOG_LEVEL_ERROR);
  return static_cast<int>(level) + DET_LOG_LEVEL_DEBUG;
}

det_log_line to_c(const det::LogLine &line, const std::string &source) {
  return {sizeof(det_log_line), line.text.c_str(), source.c_str(),
          line.origin.time_us,  to_c(line.level),  line.origin.rank};
}

HostLog::HostLog(det_log_callback log, void *user_data, void (*destroy)(void *),
                 det_log_queue *queue)
    : log_(log) {
  // Held before anything can fail, so that it is let go in any case.
  user_data_ = {user_data, destroy != nullptr ? destroy : [](void *) {}};
  if (queue != nullptr) queue_ = queue->impl;
}

det::LogCallback HostLog::callback() const {
  if (log_ == nullptr) return nullptr;
  if (queue_)
    throw det::Error(det::Code::invalid, "log and log_queue are both given; give one of them");
  return [log = log_, user_data = user_data_](const det::LogLine &line) {
    const std::string source(line.origin.room);
    const det_log_line shown = to_c(line, source);
    log(&shown, user_data.get());
  };
}

void end_host_log(const det::Logger &logger) {
  constexpr std::chrono::milliseconds patience_with_host{5000};
  if (logger.outlet() != nullptr) logger.outlet()->end(patience_with_host);
}

det_status det_log_queue_create(det_log_queue **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [] { return new det_log_queue{std::make_shared<det::LogQueue>()}; });
  });
}

det_status det_log_queue_take(det_log_queue *queue, det_log_line **out, det_error *err) noexcept {
  return answered(err, [&] {
    det_log_line *&taken = cleared(out, "out");
    const std::optional<det::LogLine> line = deref(queue, "queue").impl->take();
    if (!line) return DET_DONE;
    // One piece of memory: the struct, and its texts behind it.
    const std::string source(line->origin.room);
    const size_t text_size = line->text.size() + 1;
    void *memory = std::malloc(sizeof(det_log_line) + text_size + source.size() + 1);
    if (memory == nullptr) throw std::bad_alloc();
    auto *text = static_cast<char *>(memory) + sizeof(det_log_line);
    std::memcpy(text, line->text.c_str(), text_size);
    std::memcpy(text + text_size, source.c_str(), source.size() + 1);
    taken = new (memory) det_log_line(to_c(*line, source));
    taken->message = text;
    taken->source = text + text_size;
    return DET_OK;
  });
}

int32_t det_log_queue_fd(const det_log_queue *queue) noexcept {
  return queue != nullptr ? queue->impl->fd() : -1;
}

void det_log_queue_free(det_log_queue *queue) noexcept {
  if (queue == nullptr) return;
  queue->impl->close();
  delete queue;
}
