// What a training or an evaluation tells of its batches, and what stops it (source:
// tf.estimator.SessionRunHook; seed: estimator.RunHook).
#pragma once

#include <det/nn.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

namespace det {
inline namespace v1 {
namespace estimator {

// Given to hooks round a batch.
class RunContext {
 public:
  explicit RunContext(const nn::Model &model) : model_(model) {}

  // Its weights may be read and written.
  [[nodiscard]] const nn::Model &model() const { return model_; }
  // The trial ends after the workload, with a checkpoint; what has been begun is done to its end.
  void request_stop() { stop_requested_ = true; }
  [[nodiscard]] bool stop_requested() const { return stop_requested_; }

 private:
  const nn::Model &model_;
  bool stop_requested_ = false;
};

// What a batch has come to.
class RunValues {
 public:
  // Where each prediction of a model_fn is among the results of its model.
  using Places = std::map<std::string, size_t>;

  // `model` and `places` outlive it.
  RunValues(const nn::Model &model, const Places &places, nn::Batch batch, double loss)
      : model_(&model), places_(&places), batch_(std::move(batch)), loss_(loss) {}

  [[nodiscard]] double loss() const { return loss_; }
  // Batches that the model has been trained with, this one among them.
  [[nodiscard]] int64_t global_step() const { return model_->steps().trained; }
  [[nodiscard]] const nn::Batch &batch() const { return batch_; }
  // By its name in the model_fn's answer; of a batch that was trained as it was before. It lies in
  // the model until its next batch. Throws std::out_of_range where there is none.
  [[nodiscard]] Tensor prediction(const std::string &name) const {
    const auto place = places_->find(name);
    if (place == places_->end()) refuse("prediction", name);
    return model_->results()[place->second];
  }
  // After the batch, where it lies in the model. Throws std::out_of_range where there is none.
  [[nodiscard]] Tensor weight(const std::string &name) const {
    for (const Tensor &one : model_->weights())
      if (one.name == name) return one;
    refuse("weight", name);
  }

  // Of a training: the loss, and what the model_fn wants to be told.
  nn::Metrics summaries;

 private:
  [[noreturn]] static void refuse(const char *what, const std::string &name) {
    throw std::out_of_range("reading what a batch has come to: the model has no " +
                            std::string(what) + " '" + name + "'");
  }

  const nn::Model *model_;
  const Places *places_;
  nn::Batch batch_;
  double loss_;
};

// Every hook does nothing unless it is overridden. All ranks have the same hooks.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  virtual void begin() {}
  // When the first batch is about to be trained, and in each evaluation.
  virtual void after_create_session(const nn::Model & /*model*/) {}
  // Of an evaluation also when its data have ended.
  virtual void before_run(RunContext & /*context*/) {}
  virtual void after_run(RunContext & /*context*/, const RunValues & /*values*/) {}
  // Of evaluations: a training has no end of its own.
  virtual void end(const nn::Model & /*model*/) {}
};

// Of a TrainSpec: is told of checkpoints too.
class RunHook : public SessionRunHook {
 public:
  // Before anything else, where training goes on from a checkpoint.
  virtual void on_checkpoint_load(const std::filesystem::path & /*directory*/) {}
  // Of the chief, when all files of a checkpoint but ours are written.
  virtual void on_checkpoint_end(const std::filesystem::path & /*directory*/) {}
  // However the training ends.
  virtual void on_trial_close() {}
};

using HookList = std::vector<std::shared_ptr<SessionRunHook>>;

// Several hooks, in their order.
class Hooks {
 public:
  Hooks() = default;
  explicit Hooks(HookList all) : all_(std::move(all)) {
    for (const auto &one : all_)
      if (one == nullptr) throw std::invalid_argument("taking the hooks of a trial: one is null");
  }

  template <class... Parameters, class... Arguments>
  void call(void (SessionRunHook::*hook)(Parameters...), Arguments &&...arguments) const {
    for (const auto &one : all_) (one.get()->*hook)(arguments...);
  }
  // Of those that are a RunHook.
  template <class... Parameters, class... Arguments>
  void call(void (RunHook::*hook)(Parameters...), Arguments &&...arguments) const {
    for (const auto &one : all_)
      if (auto *const told = dynamic_cast<RunHook *>(one.get())) (told->*hook)(arguments...);
  }
  // The on_trial_close() of each, whatever one throws. Answers with what failed first, which is
  // `failure` where that is something; the rest is told on standard error.
  [[nodiscard]] std::exception_ptr close(std::exception_ptr failure) const noexcept {
    for (const auto &one : all_) {
      auto *const closed = dynamic_cast<RunHook *>(one.get());
      if (closed == nullptr) continue;
      try {
        closed->on_trial_close();
      } catch (const std::exception &other) {
        if (failure != nullptr)
          std::fprintf(stderr, "closing the hooks of a trial that failed: %s\n", other.what());
        else failure = std::current_exception();
      } catch (...) {
        if (failure == nullptr) failure = std::current_exception();
      }
    }
    return failure;
  }

 private:
  HookList all_;
};

}  // namespace estimator
}  // namespace v1
}  // namespace det
