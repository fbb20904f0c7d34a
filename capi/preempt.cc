#include <det/preempt.h>

#include "capi/guard.h"
#include "capi/handles.h"

det_status det_preempt_should_preempt(det_preempt_context *preempt, det_error *err) noexcept {
  return answered(err, [&] {
    return deref(preempt, "preempt").impl.should_preempt(true) ? DET_PREEMPTED : DET_OK;
  });
}

det_status det_preempt_should_preempt_no_ack(det_preempt_context *preempt,
                                             det_error *err) noexcept {
  return answered(err, [&] {
    return deref(preempt, "preempt").impl.should_preempt(false) ? DET_PREEMPTED : DET_OK;
  });
}

det_status det_preempt_acknowledge(det_preempt_context *preempt, det_error *err) noexcept {
  return guarded(err, [&] { deref(preempt, "preempt").impl.acknowledge(); });
}

det_status det_preempt_request(det_preempt_context *preempt) noexcept {
  if (preempt == nullptr) return DET_E_INVALID;
  switch (preempt->impl.request()) {
    case det::context::PreemptContext::Request::noted:
      return DET_OK;
    case det::context::PreemptContext::Request::out_of_reach:
      return DET_E_UNSUPPORTED;
    case det::context::PreemptContext::Request::closed:
      break;
  }
  return DET_E_STATE;
}
