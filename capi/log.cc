#include <det/log.h>

#include "capi/guard.h"
#include "capi/handles.h"

det_status det_log_queue_create(det_log_queue **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [] { return new det_log_queue{std::make_shared<det::LogQueue>()}; });
  });
}

det_status det_log_queue_take(det_log_queue *queue, det_log_level *level, char **out_message,
                              det_error *err) noexcept {
  return answered(err, [&] {
    char *&message = cleared(out_message, "out_message");
    const std::optional<det::LineQueue::Line> line = deref(queue, "queue").impl->take();
    if (!line) return DET_DONE;
    message = copy_text(line->text);
    if (level != nullptr) *level = static_cast<det_log_level>(line->level);
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
