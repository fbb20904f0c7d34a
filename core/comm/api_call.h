// What the ranks of a job are doing when they meet in a collective: it must be the same on each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace det::comm {

// The call of the API that a collective is a part of. The numbers travel: new ones go at the end.
enum class ApiCall : uint8_t {
  none,  // the collective was called as itself
  join,
  core_init,
  should_preempt,
  searcher_next,
  checkpoint_upload,
  checkpoint_begin,
  checkpoint_commit,
  checkpoint_download,
  checkpoint_restore,
  tensors_write,
  checkpoint_upload_async,
  checkpoint_commit_async,
  ticket_wait,
  ticket_cancel,
  trial_gradients_create,
  trial_gradients_step,
  trial_average_metrics,
  trial_broadcast,
  sequencer_create,
  sequencer_next,
  sequencer_respond,
  sequencer_load_state,
  sequencer_respond_invalid_hparams
};
constexpr auto last_api_call = ApiCall::sequencer_respond_invalid_hparams;

// Whether ranks that are in them are in one collective: responses to a workload may differ.
bool is_in_step(ApiCall one, ApiCall other);

struct Call {
  ApiCall api = ApiCall::none;
  // The argument that all ranks must give alike, such as a checkpoint's id. Borrowed.
  std::string_view argument = {};

  // Of the argument, in the 56 bits that a frame has for it.
  uint64_t digest() const;
  // "det_checkpoint_download('ID')", or only what is known of it; empty for none.
  std::string text() const;
};

}  // namespace det::comm
