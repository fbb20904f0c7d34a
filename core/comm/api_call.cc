#include "core/comm/api_call.h"

#include "core/base/hash.h"

namespace det::comm {

namespace {

const char *function_of(ApiCall api) {
  switch (api) {
    case ApiCall::none:
      break;
    case ApiCall::join:
      return "joining";
    case ApiCall::core_init:
      return "det_core_init";
    case ApiCall::should_preempt:
      return "det_preempt_should_preempt";
    case ApiCall::searcher_next:
      return "det_searcher_next";
    case ApiCall::checkpoint_upload:
      return "det_checkpoint_upload";
    case ApiCall::checkpoint_begin:
      return "det_checkpoint_writer_begin";
    case ApiCall::checkpoint_commit:
      return "det_checkpoint_writer_commit";
    case ApiCall::checkpoint_download:
      return "det_checkpoint_download";
    case ApiCall::checkpoint_restore:
      return "det_checkpoint_reader_open";
    case ApiCall::tensors_write:
      return "det_tensors_write";
    case ApiCall::checkpoint_upload_async:
      return "det_checkpoint_upload_async";
    case ApiCall::checkpoint_commit_async:
      return "det_checkpoint_writer_commit_async";
    case ApiCall::ticket_wait:
      return "det_checkpoint_ticket_wait";
    case ApiCall::ticket_cancel:
      return "det_checkpoint_ticket_cancel";
    case ApiCall::trial_gradients_create:
      return "det_trial_gradients_create";
    case ApiCall::trial_gradients_step:
      return "det_trial_gradients_step";
    case ApiCall::trial_average_metrics:
      return "det_trial_average_metrics";
    case ApiCall::trial_broadcast:
      return "det_trial_broadcast";
    case ApiCall::sequencer_create:
      return "det_trial_sequencer_create";
    case ApiCall::sequencer_next:
      return "det_trial_sequencer_next";
    case ApiCall::sequencer_respond:
      return "det_trial_sequencer_respond";
    case ApiCall::sequencer_load_state:
      return "det_trial_sequencer_load_state";
    case ApiCall::sequencer_respond_invalid_hparams:
      return "det_trial_sequencer_respond_invalid_hparams";
  }
  return "";
}

}  // namespace

bool is_in_step(ApiCall one, ApiCall other) {
  const auto kind = [](ApiCall api) {
    return api == ApiCall::sequencer_respond_invalid_hparams ? ApiCall::sequencer_respond : api;
  };
  return kind(one) == kind(other);
}

uint64_t Call::digest() const {
  return argument.empty() ? 0 : checksum64(argument.data(), argument.size()) >> 8U;
}

std::string Call::text() const {
  std::string text = function_of(api);
  if (!argument.empty()) text += "('" + std::string(argument) + "')";
  return text;
}

}  // namespace det::comm
