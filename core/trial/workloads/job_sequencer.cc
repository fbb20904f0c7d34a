#include "core/trial/workloads/job_sequencer.h"

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

// The Core API of a run, as the sequencer of its chief calls it.
class LiveCore : public CoreCalls {
 public:
  // Borrowed. From now on the chief alone asks for operations.
  explicit LiveCore(context::Core &core);

  void warn(const std::string &text) override { core_.logger().warning(text); }
  std::optional<int64_t> last_validation() override;
  std::optional<int64_t> next_operation() override;
  void set_status(std::string_view status) override { core_.train().set_status(status); }
  void report_training(int64_t steps, const Json &metrics,
                       const std::optional<Json> &batches) override;
  void report_progress(double length) override { operation_->report_progress(length); }
  void report_completed(const Json &metric) override { operation_->report_completed(metric); }
  void report_validation(int64_t steps, const Json &metrics) override;
  void report_invalid_hparams() override;
  std::optional<double> best_validation() override { return core_.train().best_validation(); }
  bool should_preempt() override { return core_.preempt().should_preempt(true); }

 private:
  context::Core &core_;
  context::SearcherOperation *operation_ = nullptr;
};

LiveCore::LiveCore(context::Core &core) : core_(core) {
  if (core.preempt().shares_answers())
    throw Error(Code::state,
                "making a workload sequencer: in a job of several ranks the chief alone asks "
                "whether to stop; start the core with the preemption mode CHIEF_ONLY");
  core.searcher().configure(context::SearcherMode::chief_only, true);
}

std::optional<int64_t> LiveCore::last_validation() { return core_.train().last_validation(); }

std::optional<int64_t> LiveCore::next_operation() {
  operation_ = core_.searcher().next();
  if (operation_ == nullptr) return std::nullopt;
  return static_cast<int64_t>(std::min<uint64_t>(operation_->length(), endless));
}

void LiveCore::report_training(int64_t steps, const Json &metrics,
                               const std::optional<Json> &batches) {
  core_.train().report_json("training", steps, metrics, batches);
}

void LiveCore::report_validation(int64_t steps, const Json &metrics) {
  core_.train().report_json("validation", steps, metrics, std::nullopt);
}

void LiveCore::report_invalid_hparams() {
  core_.train().report_early_exit("EXITED_REASON_INVALID_HP");
}

}  // namespace

JobSequencer JobSequencer::of_run(context::Core &core, const std::function<Json()> &config,
                                  int64_t global_batch_size) {
  std::shared_ptr<LiveCore> calls;
  JobSequencer made(core.communicator(), [&] {
    SequencerConfig read = read_sequencer_config(config(), global_batch_size);
    calls = std::make_shared<LiveCore>(core);
    return std::make_unique<Sequencer>(std::move(read), core.info().run().trial_id, *calls);
  });
  made.calls_ = std::move(calls);
  return made;
}

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
