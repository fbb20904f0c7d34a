// A trial, and what it is given (seed: TFKerasTrial, TFKerasTrialContext).
#pragma once

#include <det/keras/callbacks.hpp>
#include <det/keras/data.hpp>
#include <det/keras/fit_options.hpp>
#include <det/trials/context.hpp>

#include <filesystem>
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
  // With all that det_nn_model_compile() takes. Throws std::invalid_argument where that names no
  // optimizer.
  void compile(const Json &options) {
    if (!nlohmann::json::parse(options.text()).contains("optimizer"))
      throw std::invalid_argument(
          "compiling the model of a trial: nothing says its 'optimizer', such as \"adam\"");
    model_->compile(options);
    *is_compiled_ = true;
  }

  [[nodiscard]] const nn::Model &model() const { return *model_; }
  [[nodiscard]] bool is_compiled() const { return *is_compiled_; }

 private:
  std::shared_ptr<nn::Model> model_;
  std::shared_ptr<bool> is_compiled_ = std::make_shared<bool>(false);
};

class TrialContext : public det::TrialContext {
 public:
  // `core` outlives it.
  explicit TrialContext(const Core &core) : det::TrialContext(core, "a det::keras::Trial") {}
  // For looking at a trial by hand: what it makes is used by plain calls. Of a configuration, an
  // object, whose hyperparameters are drawn from their ranges where `hparams` gives none.
  [[nodiscard]] static std::shared_ptr<TrialContext> from_config(const Json &config,
                                                                 const Json &hparams = {}) {
    return trials::offline_context<TrialContext>(config, hparams);
  }

  // Makes the model, with first weights that follow from the trial's seed.
  [[nodiscard]] TrialModel wrap_model(const Json &described) {
    nn::ModelOptions options;
    options.seed = static_cast<uint64_t>(get_trial_seed());
    model_.emplace(nn::Model::create(described, options));
    return *model_;
  }

  // What is not said in any call is as FitOptions has it.
  void configure_fit(const FitOptions &options) { fit_.merge(options); }

  // Of the library.
  [[nodiscard]] const std::optional<TrialModel> &wrapped_model() const { return model_; }
  [[nodiscard]] const FitOptions &fit() const { return fit_; }

 private:
  std::optional<TrialModel> model_;
  FitOptions fit_;
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

  // Through context().wrap_model(), and compiled; the model that was wrapped last is trained.
  virtual TrialModel build_model() = 0;
  virtual InputData build_training_data_loader() = 0;
  virtual InputData build_validation_data_loader() = 0;
  virtual std::vector<std::shared_ptr<Callback>> keras_callbacks() { return {}; }

 protected:
  [[nodiscard]] TrialContext &context() const { return context_; }

 private:
  TrialContext &context_;
};

using TFKerasTrial = Trial;
using TFKerasTrialContext = TrialContext;
using TFKerasExperimentalContext = det::TrialContext;

}  // namespace keras
}  // namespace v1
}  // namespace det
