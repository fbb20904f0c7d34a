// Hooks that follow the batches of a training or an evaluation, and can stop it. Follows
// tf.estimator.SessionRunHook and estimator.RunHook.
#pragma once

#include <det/nn.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <utility>

namespace det {
inline namespace v1 {
namespace estimator {

// The argument of hooks before and after a batch.
class RunContext {
 public:
  explicit RunContext(const nn::Model &model) : model_(model) {}

  // You may read and write its weights.
  [[nodiscard]] const nn::Model &model() const { return model_; }
  // Ends the trial after the workload, with a checkpoint. Work that has begun is completed.
  void request_stop() { stop_requested_ = true; }
  [[nodiscard]] bool stop_requested() const { return stop_requested_; }

 private:
  const nn::Model &model_;
  bool stop_requested_ = false;
};

// The results of a batch.
class RunValues {
 public:
  // The place of each prediction of a model_fn among the results of its model.
  using Places = std::map<std::string, size_t>;

  // `model` and `places` must outlive it.
  RunValues(const nn::Model &model, const Places &places, nn::Batch batch, double loss)
      : model_(&model), places_(&places), batch_(std::move(batch)), loss_(loss) {}

  [[nodiscard]] double loss() const { return loss_; }
  // The batches that the model has been trained with, including this one.
  [[nodiscard]] int64_t global_step() const { return model_->steps().trained; }
  [[nodiscard]] const nn::Batch &batch() const { return batch_; }
  // Returns the prediction of a name of the model_fn. For a trained batch it is from before the
  // step. It is in the model until its next batch. Throws std::out_of_range for an unknown name.
  [[nodiscard]] Tensor prediction(const std::string &name) const {
    const auto place = places_->find(name);
    if (place == places_->end()) refuse("prediction", name);
    return model_->results()[place->second];
  }
  // Returns the weight after the batch, in the model. Throws std::out_of_range for an unknown name.
  [[nodiscard]] Tensor weight(const std::string &name) const {
    for (const Tensor &one : model_->weights())
      if (one.name == name) return one;
    refuse("weight", name);
  }

  // Of a training: the loss, and the summaries of the model_fn.
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

// Override the hooks that you need. All ranks have the same hooks.
class SessionRunHook {
 public:
  virtual ~SessionRunHook() = default;

  virtual void begin() {}
  // Called before the first batch is trained, and in each evaluation.
  virtual void after_create_session(const nn::Model & /*model*/) {}
  // In an evaluation it is also called when its data have ended.
  virtual void before_run(RunContext & /*context*/) {}
  virtual void after_run(RunContext & /*context*/, const RunValues & /*values*/) {}
  // Only for evaluations. A training has no separate end.
  virtual void end(const nn::Model & /*model*/) {}
};

// For a TrainSpec. It also follows checkpoints.
class RunHook : public SessionRunHook {
 public:
  // Called before all others, if training resumes from a checkpoint.
  virtual void on_checkpoint_load(const std::filesystem::path & /*directory*/) {}
  // Called on the chief, when the checkpoint has all files except those of detcore.
  virtual void on_checkpoint_end(const std::filesystem::path & /*directory*/) {}
  // Called when the training ends, for whatever reason.
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
  // Calls the hooks that are a RunHook.
  template <class... Parameters, class... Arguments>
  void call(void (RunHook::*hook)(Parameters...), Arguments &&...arguments) const {
    for (const auto &one : all_)
      if (auto *const told = dynamic_cast<RunHook *>(one.get())) (told->*hook)(arguments...);
  }
  // Calls on_trial_close() of each, even if one throws. Returns the first failure, which is
  // `failure` if that is set. The others are printed on standard error.
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
