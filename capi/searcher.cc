#include <det/searcher.h>

#include "capi/guard.h"
#include "capi/handles.h"

static_assert(static_cast<int>(det::context::SearcherMode::chief_only) ==
              DET_SEARCHER_MODE_CHIEF_ONLY);
static_assert(static_cast<int>(det::context::Unit::batches) == DET_LENGTH_UNIT_BATCHES);

det_status det_searcher_configure(det_searcher_context *searcher, det_searcher_mode mode,
                                  int32_t auto_ack, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(searcher, "searcher")
        .impl.configure(static_cast<det::context::SearcherMode>(mode), auto_ack != 0);
  });
}

det_status det_searcher_next(det_searcher_context *searcher, det_searcher_op **out,
                             det_error *err) noexcept {
  return answered(err, [&] {
    det_searcher_op *&result = cleared(out, "out");
    det_searcher_context &handle = deref(searcher, "searcher");
    std::list<det_searcher_op> one(1);  // before there is an operation to lose
    one.front().impl = handle.impl.next();
    if (one.front().impl == nullptr) return DET_DONE;
    const std::lock_guard guard(handle.mutex);
    handle.operations.splice(handle.operations.end(), one);
    result = &handle.operations.back();
    return DET_OK;
  });
}

det_status det_searcher_acknowledge_out_of_ops(det_searcher_context *searcher,
                                               det_error *err) noexcept {
  return guarded(err, [&] { deref(searcher, "searcher").impl.acknowledge_out_of_operations(); });
}

det_length_unit det_searcher_configured_units(const det_searcher_context *searcher) noexcept {
  return searcher != nullptr ? static_cast<det_length_unit>(searcher->impl.units())
                             : DET_LENGTH_UNIT_NONE;
}

int64_t det_searcher_op_length(const det_searcher_op *op) noexcept {
  return op != nullptr ? op->impl->length() : 0;
}

det_status det_searcher_op_report_progress(det_searcher_op *op, double length,
                                           det_error *err) noexcept {
  return guarded(err, [&] { deref(op, "op").impl->report_progress(length); });
}

det_status det_searcher_op_report_completed(det_searcher_op *op, double metric,
                                            det_error *err) noexcept {
  return guarded(err, [&] { deref(op, "op").impl->report_completed(metric); });
}

det_status det_searcher_op_report_completed_json(det_searcher_op *op, const char *metric_json,
                                                 det_error *err) noexcept {
  return guarded(err, [&] {
    deref(op, "op").impl->report_completed(
        det::parse_json(text(metric_json, "metric_json"), "metric_json"));
  });
}
