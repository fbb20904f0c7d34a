// A trial and its context. Follows TFKerasTrial and TFKerasTrialContext.
#pragma once

#include <det/keras/callbacks.hpp>
#include <det/keras/data.hpp>
#include <det/keras/fit_options.hpp>
#include <det/trials/context.hpp>
#include <det/trials/program.hpp>

#include <optional>

namespace det {
inline namespace v1 {
namespace keras {

using det::InvalidHP;

// A model of a trial, until it is compiled.
class TrialModel {
 public:
  explicit TrialModel(nn::Model model) : model_(std::make_shared<nn::Model>(std::move(model))) {}

  void compile(const nn::Optimizer &optimizer, const std::string &loss,
               const std::vector<std::string> &metrics = {}) {
    std::string names;
    for (const std::string &metric : metrics)
      names += (names.empty() ? "" : ", ") + nn::ConfigValue::quoted(metric);
    compile("{\"optimizer\": " + optimizer.json() + ", \"loss\": " + nn::ConfigValue::quoted(loss) +
            ", \"metrics\": [" + names + "]}");
  }
  // Takes all settings of det_nn_model_compile(). An optimizer is needed.
  void compile(const Json &options) { model_->compile(options); }

  [[nodiscard]] const nn::Model &model() const { return *model_; }

 private:
  std::shared_ptr<nn::Model> model_;
};

class TrialContext : public det::TrialContext {
 public:
  // `core` must outlive it.
  explicit TrialContext(const Core &core) : det::TrialContext(core, "det::keras::Trial") {}
  // For a run of which nothing is kept.
  TrialContext(const Json &config, const Json &hparams)
      : det::TrialContext(config, hparams, "det::keras::Trial") {}
  // For using a trial by hand, with plain calls. `config` is a configuration, an object. Without
  // `hparams` the hyperparameters are drawn from its ranges.
  [[nodiscard]] static std::shared_ptr<TrialContext> from_config(const Json &config,
                                                                 const Json &hparams = {}) {
    return std::make_shared<TrialContext>(config, hparams);
  }

  // Makes the model. The trial's seed decides its first weights.
  [[nodiscard]] TrialModel wrap_model(const Json &described) {
    nn::ModelOptions options;
    options.seed = static_cast<uint64_t>(get_trial_seed());
    model_.emplace(nn::Model::create(described, options));
    return *model_;
  }

  // Settings that no call names have the defaults of FitOptions.
  void configure_fit(const FitOptions &options, OnFailure on = {}) {
    det::detail::call(on, det_keras_configure_fit, capi(), options.json().c_str());
  }

  // For the library.
  [[nodiscard]] const std::optional<TrialModel> &wrapped_model() const { return model_; }

 private:
  std::optional<TrialModel> model_;
};

class Controller;

// Derive from it, with a constructor that takes a TrialContext &. The functions are called once
// each, the loaders first.
class Trial {
 public:
  using Context = TrialContext;
  using Controller = keras::Controller;

  explicit Trial(TrialContext &context) : context_(context) {}
  virtual ~Trial() = default;
  Trial(const Trial &) = delete;
  Trial &operator=(const Trial &) = delete;

  // Return a compiled model of context().wrap_model(). The last wrapped model is trained.
  virtual TrialModel build_model() = 0;
  virtual InputData build_training_data_loader() = 0;
  virtual InputData build_validation_data_loader() = 0;
  virtual std::vector<std::shared_ptr<Callback>> keras_callbacks() { return {}; }

 protected:
  [[nodiscard]] TrialContext &context() const { return context_; }

 private:
  TrialContext &context_;
};

// Loads the model from the directory of a checkpoint, with its weights, to predict with it.
[[nodiscard]] inline nn::Model load_model_from_checkpoint_path(
    const std::filesystem::path &directory, OnFailure on = {}) {
  det_nn_model *model = nullptr;
  det::detail::call(on, det_keras_load_model, directory.c_str(), &model);
  return nn::Model(model);
}

using TFKerasTrial = Trial;
using TFKerasTrialContext = TrialContext;
using TFKerasExperimentalContext = det::TrialContext;

}  // namespace keras
}  // namespace v1
}  // namespace det
