#include "core/trial/job_sequencer.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/comm/agreement.h"

namespace det::trial {

namespace {

using comm::ApiCall;

// Between the ranks; the end is the empty text.
std::string message_of(const std::optional<Workload> &workload) {
  if (!workload) return {};
  return pack({static_cast<int>(workload->kind), workload->step_id, workload->batches,
               workload->batches_done});
}

std::optional<Workload> workload_from(const std::string &message) {
  if (message.empty()) return std::nullopt;
  const Json parts = unpack(message, "a workload from the chief");
  return Workload{static_cast<Workload::Kind>(parts.at(0).get<int>()), parts.at(1).get<int64_t>(),
                  parts.at(2).get<int64_t>(), parts.at(3).get<int64_t>()};
}

// What a rank's response means for the others.
constexpr const char *goes_on = "";
constexpr const char *wants_to_stop = "stop";
constexpr const char *has_invalid_hparams = "invalid";

}  // namespace

JobSequencer::JobSequencer(comm::Communicator &communicator,
                           const std::function<std::unique_ptr<Sequencer>()> &make)
    : communicator_(communicator) {
  comm::chief_decides(communicator_, {ApiCall::sequencer_create}, [&] {
    sequencer_ = make();
    return std::string();
  });
}

std::optional<Workload> JobSequencer::next() {
  return workload_from(comm::chief_decides(communicator_, {ApiCall::sequencer_next},
                                           [&] { return message_of(sequencer_->next()); }));
}

void JobSequencer::respond(const std::function<Json()> &read) {
  respond(ApiCall::sequencer_respond, read);
}

void JobSequencer::respond_invalid_hparams() {
  try {
    respond(ApiCall::sequencer_respond_invalid_hparams, [] { return std::nullopt; });
  } catch (const Error &error) {
    if (error.code != Code::conflict) throw;
    if (sequencer_ != nullptr) sequencer_->respond_invalid_hparams();
  }
}

void JobSequencer::respond(ApiCall call, const std::function<std::optional<Json>()> &read) {
  std::optional<Json> response;
  const std::vector<std::string> answers = comm::all_agree(communicator_, {call}, [&] {
    response = read();
    if (!response) return has_invalid_hparams;
    const bool stops = response->is_object() && response->value("stop_requested", Json()) == true;
    return stops ? wants_to_stop : goes_on;
  });
  const auto says = [&](const char *answer) { return std::ranges::count(answers, answer) > 0; };
  comm::chief_decides(communicator_, {call}, [&] {
    if (says(has_invalid_hparams)) {
      sequencer_->respond_invalid_hparams();
    } else {
      if (says(wants_to_stop) && response->is_object()) (*response)["stop_requested"] = true;
      sequencer_->respond(*response);
    }
    return std::string();
  });
}

Json JobSequencer::state() const {
  if (sequencer_ == nullptr)
    throw Error(Code::state, "reading the state of a sequencer on rank " +
                                 std::to_string(communicator_.ranks().rank) +
                                 ": only the chief, rank 0, has one");
  return sequencer_->state();
}

void JobSequencer::load_state(const std::function<Json()> &read) {
  comm::chief_decides(communicator_, {ApiCall::sequencer_load_state}, [&] {
    sequencer_->load_state(read());
    return std::string();
  });
}

}  // namespace det::trial
