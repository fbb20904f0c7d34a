// Plays one leg of a recorded trial as one of its ranks, as any program would: through the public
// API alone. SCRIPT LEG RANK DIRECTORY; what there is to call is in
// tests/servers/recording/calls.py. Status 99: something went otherwise than it was recorded;
// standard error says what.
#include <det/core.h>
#include <signal.h>

#include <cstdio>
#include <optional>

#include "tests/patience.h"
#include "tests/rest/leg/checkpoints.h"
#include "tests/rest/leg/reports.h"

namespace leg {

class Leg : Checked {
 public:
  Leg(const Json &script, size_t leg, int rank, fs::path directory)
      : leg_(script["legs"][leg]),
        is_managed_(script["managed"]),
        counts_units_(is_managed_ && script["version"] != "0.38.1"),
        rank_(rank),
        directory_(std::move(directory)) {}

  int play() {
    start();
    for (const Json &call : leg_["calls"]) {
      call_ = call;
      const std::string name = call[0];
      if (name == "exit") return end(call[1]);
      if (name == "killed") be_killed();
      if (rank_ == 0 || is_of_all_ranks(name)) perform(name, call);
    }
    fail("the script has no end");
  }

  const Json &call() const { return call_; }

 private:
  static bool is_of_all_ranks(const std::string &name) {
    return name == "operation" || name == "checkpoint" || name == "should_preempt";
  }

  void start() {
    join();
    det_core_options options = DET_CORE_OPTIONS_INIT;
    options.distributed = distributed_;
    const std::string config = leg_["config"].dump(), hparams = leg_["hparams"].dump();
    std::string storage;
    if (!is_managed_) {
      options.config_json = config.c_str();
      options.hparams_json = hparams.c_str();
      if (!leg_["config"].contains("checkpoint_storage")) {
        storage = leg_["checkpoint_storage"]["host_path"];
        options.checkpoint_storage = storage.c_str();
      }
    }
    must(det_core_init(&options, &core_, &error_));
    reports_.emplace(det_core_train(core_));
    checkpoints_.emplace(det_core_checkpoint(core_), rank_, distributed_ != nullptr, directory_);
    check_info();
  }

  void join() {
    const int ranks = leg_["ranks"];
    if (ranks == 1) return;
    const int nodes = static_cast<int>(leg_["resources_ids"].size());
    det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
    options.rank = rank_;
    options.size = ranks;
    options.local_size = ranks / nodes;
    options.local_rank = rank_ % options.local_size;
    options.cross_rank = rank_ / options.local_size;
    options.cross_size = nodes;
    options.chief_ip = "127.0.0.1";
    options.timeout_ms = static_cast<int32_t>(long_enough_ms);
    must(det_distributed_create(&options, &distributed_, &error_));
  }

  void check_info() {
    const det_info *info = det_core_info(core_);
    if (det_info_trial_id(info) != leg_["trial_id"] ||
        det_info_trial_run_id(info) != leg_["run_id"] ||
        det_info_experiment_id(info) != leg_["experiment_id"] ||
        det_info_steps_completed(info) != leg_["steps_completed"] ||
        Json::parse(det_info_hparams_json(info)) != leg_["hparams"])
      fail(std::string("it is told otherwise who it is: ") + det_info_json(info));
    const char *latest = det_info_latest_checkpoint(info);
    const Json &expected = leg_["latest_checkpoint"];
    if ((latest == nullptr) != expected.is_null()) fail("it is told of another checkpoint");
    if (latest != nullptr) checkpoints_->resume(expected, latest);
  }

  int end(int status) {
    must(det_core_close(core_, status == 0 ? DET_OUTCOME_OK : DET_OUTCOME_ERROR, &error_));
    det_core_free(core_);
    det_distributed_free(distributed_);
    return status;
  }

  [[noreturn]] void be_killed() {
    reports_->flush();
    raise(SIGKILL);
    fail("it lives on");
  }

  void perform(const std::string &name, const Json &call) {
    if (name == "report") reports_->report(call);
    else if (name == "progress") report_progress(call[1]);
    else if (name == "status") reports_->set_status(call[1]);
    else if (name == "log") reports_->log();
    else if (name == "best_validation") reports_->check_best_validation(call[1]);
    else if (name == "early_exit") reports_->exit_early(call[1]);
    else if (name == "checkpoint") checkpoints_->save(call[1]);
    else if (name == "checkpoint_metadata") checkpoints_->check_metadata(call[1], call[2]);
    else if (name == "delete_checkpoint") checkpoints_->remove(call[1]);
    else if (name == "operation") ask_operation(call[1]);
    else if (name == "complete")
      must(det_searcher_op_report_completed(operation_, call[2], &error_));
    else if (name == "should_preempt") wait_for_signal();
    else if (name == "acknowledge")
      expect(det_preempt_acknowledge(det_core_preempt(core_), &error_), DET_E_STATE);
    else if (name == "profile") must(det_profiler_on(det_core_profiler(core_), 1, 10, &error_));
    else if (name == "fails") fail_at(call[2]);
    else if (name != "set_metadata" && name != "get_metadata") fail("nothing plays this");
  }

  void report_progress(double progress) {
    if (!counts_units_) return reports_->progress(progress);
    must(det_searcher_op_report_progress(operation_, progress, &error_));
    reports_->flush();
  }

  void ask_operation(const Json &length) {
    const det_status status = det_searcher_next(det_core_searcher(core_), &operation_, &error_);
    if (length.is_null()) return expect(status, DET_DONE);
    must(status);
    if (det_searcher_op_length(operation_) != length)
      fail("its length is " + std::to_string(det_searcher_op_length(operation_)));
  }

  // As a training loop does, that asks before each step; SIGALRM ends what never comes.
  void wait_for_signal() {
    for (;;) {
      const det_status status = det_preempt_should_preempt(det_core_preempt(core_), &error_);
      if (status == DET_PREEMPTED) return;
      must(status);
      usleep(1000);
    }
  }

  // The operation of an unmanaged trial does not fail here: its master is not asked for it.
  void fail_at(const Json &call) {
    if (call[0] == "operation") ask_operation(leg_["config"]["searcher"]["max_length"]["batches"]);
    else reports_->report_refused(call);
  }

  const Json leg_;
  const bool is_managed_;
  const bool counts_units_;  // progress is told in units of the operation
  const int rank_;
  const fs::path directory_;
  Json call_ = "starting";
  det_distributed_context *distributed_ = nullptr;
  det_core *core_ = nullptr;
  det_searcher_op *operation_ = nullptr;
  std::optional<Reports> reports_;
  std::optional<Checkpoints> checkpoints_;
};

}  // namespace leg

int main(int count, char **arguments) {
  if (count != 5) return 2;
  alarm(TEST_PATIENCE_SECONDS);
  std::ifstream script(arguments[1]);
  leg::Leg leg(leg::Json::parse(script), std::stoul(arguments[2]), std::stoi(arguments[3]),
               arguments[4]);
  try {
    return leg.play();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "rank %s, %s: %s\n", arguments[3], leg.call().dump().c_str(),
                 error.what());
    _exit(99);
  }
}
