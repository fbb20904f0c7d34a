#include "wrappers/keras/training/trainer.h"
#include "wrappers/keras/run/running_trial.h"

#include <cstdio>

namespace det::keras {

namespace {

class Trainer {
 public:
  Trainer(Trial &trial, Loop &loop, WorkloadSource &workloads)
      : trial_(trial), loop_(loop), workloads_(workloads) {}

  void run() {
    begin();
    while (const std::optional<Workload> workload = workloads_.next()) {
      try {
        workloads_.respond(done(*workload));
      } catch (const InvalidHparams &refusal) {
        workloads_.refuse(refusal);
      }
    }
  }

 private:
  void begin() {
    Handle<det_checkpoint_reader, det_checkpoint_reader_free> checkpoint;
    Loop::Checkpoint directory;
    if (const char *latest = det_info_latest_checkpoint(trial_.info()); latest != nullptr) {
      det_checkpoint_reader *opened = nullptr;
      call(det_checkpoint_reader_open, det_core_checkpoint(trial_.core()), latest, nullptr,
           &opened);
      checkpoint.reset(opened);
      directory = det_checkpoint_reader_path(opened);
      check_kind(*directory, trial_.kind());
    }
    batches_trained_ = det_info_steps_completed(trial_.info());
    model_ = &loop_.begin(directory);
    if (directory) {
      const Json sequencer = read_json(*directory / sequencer_file);
      load_model(checkpoint.get(), *model_, loop_.names().files);
      workloads_.load_state(sequencer);
    }
    ranks_.emplace(trial_.job(), *model_, trial_.section("optimizations"));
    loop_.start(*ranks_, directory);
  }

  // What is responded to a workload.
  Json done(const Workload &workload) {
    Json response = workload.kind == Workload::Kind::train      ? train(workload.batches)
                    : workload.kind == Workload::Kind::validate ? validate()
                                                                : save();
    response["stop_requested"] = trial_.stop_requested;
    return response;
  }

  Json train(int64_t batches) {
    Loop::Trained trained = loop_.train(batches);
    batches_trained_ += batches;
    return {{"metrics",
             {{"num_inputs", batches * trial_.sizes().global},
              {"batch_metrics", std::move(trained.each)},
              {"avg_metrics", std::move(trained.averages)}}}};
  }

  Json validate() {
    Loop::Validated validated = loop_.validate(workloads_.most_validation_batches());
    return {{"metrics",
             {{"num_inputs", validated.batches * trial_.sizes().global},
              {"validation_metrics", std::move(validated.metrics)}}}};
  }

  // The chief writes a checkpoint; the other ranks have nothing to do.
  Json save() {
    if (trial_.rank() != 0) return Json::object();
    const Json metadata = {{"steps_completed", batches_trained_},
                           {"framework", std::string("det-native-") + det_version_string()},
                           {"format", loop_.names().format}};
    det_checkpoint_writer *begun = nullptr;
    call(det_checkpoint_writer_begin, det_core_checkpoint(trial_.core()),
         text_with_bare_numbers(metadata).c_str(), nullptr, &begun);
    const Handle<det_checkpoint_writer, det_checkpoint_writer_free> checkpoint(begun);
    const std::filesystem::path directory = det_checkpoint_writer_path(begun);
    const std::string id = det_checkpoint_writer_id(begun);
    save_model(begun, *model_, loop_.names().files);
    loop_.save(directory);
    write_json(directory / sequencer_file, workloads_.state());
    write_load_data(directory, trial_);
    call(det_checkpoint_writer_commit, begun);
    return {{"uuid", id}};
  }

  Trial &trial_;
  Loop &loop_;
  WorkloadSource &workloads_;
  int64_t batches_trained_ = 0;
  det_nn_model *model_ = nullptr;
  std::optional<RanksInStep> ranks_;
};

// Whether another rank found the hyperparameters invalid, for which this one waited.
bool is_refused_elsewhere(const Error &error) {
  return error.code == Code::conflict &&
         std::string_view(error.what()).find("det_trial_sequencer_respond_invalid_hparams") !=
             std::string_view::npos;
}

void close(const Trial &trial, det_outcome outcome) { call(det_core_close, trial.core(), outcome); }

void train_or_refuse(Trial &trial, const MakeLoop &make_loop) {
  SearchedWorkloads workloads(trial.core(), trial.sizes().global);
  const auto refuse = [&](const std::string &why) {
    std::fprintf(stderr, "the hyperparameters cannot be trained: %s\n", why.c_str());
    workloads.refuse();
    close(trial, DET_OUTCOME_INVALID_HP);
  };
  try {
    const std::unique_ptr<Loop> loop = make_loop();
    do_workloads(trial, *loop, workloads);
  } catch (const InvalidHparams &refusal) {
    return refuse(refusal.why());
  } catch (const Error &error) {
    if (!is_refused_elsewhere(error)) throw;
    return refuse("another rank found them invalid");
  }
  close(trial, DET_OUTCOME_OK);
}

}  // namespace

void check_validation(const Trial &trial, int64_t batches) {
  if (batches > 0) return;
  throw Error(Code::invalid,
              "validating a trial: there are no batches to validate with" +
                  (trial.ranks() == 1 ? std::string()
                                      : " on rank " + std::to_string(trial.rank()) + "; each of " +
                                            std::to_string(trial.ranks()) + " ranks needs one"));
}

void do_workloads(Trial &trial, Loop &loop, WorkloadSource &workloads) {
  try {
    Trainer(trial, loop, workloads).run();
  } catch (...) {
    try {
      loop.end(true);
    } catch (const std::exception &) {  // what failed first counts
    }
    throw;
  }
  loop.end(false);
}

void train_to_end(Trial &trial, const MakeLoop &make_loop) {
  try {
    train_or_refuse(trial, make_loop);
  } catch (const std::exception &failure) {
    // While this rank is still in the job: once it has left, the others fail, and a launcher may
    // end all of them before the caller has said why.
    if (trial.ranks() > 1)
      std::fprintf(stderr, "the trial ends on rank %d: %s\n", trial.rank(), failure.what());
    throw;
  }
}

}  // namespace det::keras
