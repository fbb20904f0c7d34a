// What a trial is asked to do, one workload after another.
#pragma once

#include <det/nlohmann_json.hpp>
#include <det/trial.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

namespace det {
inline namespace v1 {

// Thrown by a trial whose hyperparameters cannot be trained: the search goes on without it.
class InvalidHP : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace trials {

// Where workloads come from. Each is answered before the next is asked for; of several ranks by all
// of them in step.
class WorkloadSource {
 public:
  virtual ~WorkloadSource() = default;
  // Nothing: there is no more to do.
  [[nodiscard]] virtual std::optional<Workload> next() = 0;
  // With what det_trial_sequencer_respond() takes.
  virtual void respond(const nlohmann::ordered_json &response) = 0;
  // It ended with this.
  virtual void refuse(const InvalidHP &refusal) = 0;
  // What belongs into a checkpoint, for load_state(); of the chief.
  [[nodiscard]] virtual nlohmann::ordered_json state() const = 0;
  virtual void load_state(const nlohmann::ordered_json &state) = 0;
  // How many batches a validation has at most, on each rank; none: as many as the trial says.
  [[nodiscard]] virtual std::optional<int64_t> batches_of_validation() const { return {}; }
};

// As the search of a run and its configuration ask for them.
class Sequencer : public WorkloadSource {
 public:
  // `core` outlives it.
  Sequencer(const Core &core, int64_t global_batch_size)
      : sequencer_(TrialSequencer::create(core, global_batch_size)) {}

  [[nodiscard]] std::optional<Workload> next() override { return sequencer_.next(); }
  void respond(const nlohmann::ordered_json &response) override { sequencer_.respond(response); }
  void refuse(const InvalidHP & /*refusal*/) override { refuse(); }
  void refuse() const { sequencer_.respond_invalid_hparams(); }
  [[nodiscard]] nlohmann::ordered_json state() const override {
    return sequencer_.state().as<nlohmann::ordered_json>();
  }
  void load_state(const nlohmann::ordered_json &state) override { sequencer_.load_state(state); }

 private:
  TrialSequencer sequencer_;
};

// One of each kind, of one batch.
class OneBatch : public WorkloadSource {
 public:
  [[nodiscard]] std::optional<Workload> next() override {
    switch (done_) {
      case 0:
        return Workload{WorkloadKind::train, 1, 1, 0};
      case 1:
        return Workload{WorkloadKind::validate, 1, 0, 1};
      case 2:
        return Workload{WorkloadKind::checkpoint, 1, 0, 1};
      default:
        return std::nullopt;
    }
  }
  void respond(const nlohmann::ordered_json & /*response*/) override { ++done_; }
  // There is no search that could try others.
  [[noreturn]] void refuse(const InvalidHP &refusal) override { throw refusal; }
  [[nodiscard]] nlohmann::ordered_json state() const override {
    return nlohmann::ordered_json::object();
  }
  void load_state(const nlohmann::ordered_json & /*state*/) override {}
  [[nodiscard]] std::optional<int64_t> batches_of_validation() const override { return 1; }

 private:
  int done_ = 0;
};

// Until there are no more. Each of the three answers with what WorkloadSource::respond() takes.
template <class Train, class Validate, class Save>
void do_workloads(WorkloadSource &source, const Train &train, const Validate &validate,
                  const Save &save) {
  while (const std::optional<Workload> workload = source.next()) {
    try {
      if (workload->kind == WorkloadKind::train) source.respond(train(workload->batches));
      else if (workload->kind == WorkloadKind::validate) source.respond(validate());
      else source.respond(save());
    } catch (const InvalidHP &refusal) {
      source.refuse(refusal);
    }
  }
}

}  // namespace trials
}  // namespace v1
}  // namespace det
