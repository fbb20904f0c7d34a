// A trial of a recorded run of Keras, for test_keras_traces.py: keras_trace CASE PHASE, a file of
// tests/data/trials and the number of a phase in it. It says what happens.
#include "keras_callbacks.h"
#include "keras_data.h"
#include "recorded_run.h"

namespace traces {
namespace {

class RecordedTrial : public keras::Trial {
 public:
  RecordedTrial(keras::TrialContext &context, const Json &spec) : Trial(context), spec_(spec) {
    for (const Json &given : spec.at("configure_fit")) context.configure_fit(fit_options(given));
  }

  void say_last() { say({"final_weights", weights_of(context().wrapped_model()->model())}); }

  keras::TrialModel build_model() override {
    auto model = context().wrap_model(model_of(spec_));
    set_first_weights(model.model());
    model.compile(compiling(spec_));
    return model;
  }
  keras::InputData build_training_data_loader() override {
    return data(spec_.at("train"), context());
  }
  keras::InputData build_validation_data_loader() override {
    return data(spec_.at("val"), context());
  }
  std::vector<std::shared_ptr<keras::Callback>> keras_callbacks() override {
    std::vector<std::shared_ptr<keras::Callback>> all;
    for (const Json &given : spec_.at("callbacks")) {
      const std::string kind = given.at("kind");
      const Json arguments = given.value("args", Json::object());
      const std::string tag =
          given.value("tag", std::string(1, static_cast<char>('A' + all.size())));
      if (kind == "EarlyStopping") all.push_back(early_stopping(arguments));
      else if (kind == "ReduceLROnPlateau") all.push_back(reduce_lr(arguments));
      else if (kind == "TensorBoard") all.push_back(std::make_shared<keras::TensorBoard>());
      else all.push_back(std::make_shared<Recorder>(tag, kind, spec_, context()));
    }
    return all;
  }

 private:
  static keras::FitOptions fit_options(const Json &given) {
    keras::FitOptions options;
    if (given.contains("verbose")) options.verbose(given["verbose"]);
    if (given.contains("shuffle")) options.shuffle(given["shuffle"]);
    if (given.contains("workers")) options.workers(given["workers"]);
    if (!given.contains("class_weight")) return options;
    keras::ClassWeight weights;
    for (const auto &[label, weight] : given["class_weight"].items())
      weights[std::stoll(label)] = weight;
    return options.class_weight(weights);
  }

  const Json &spec_;
};

}  // namespace
}  // namespace traces

int main(int argc, char **argv) {
  return traces::main_of<traces::RecordedTrial>(argc, argv, "val_loss");
}
