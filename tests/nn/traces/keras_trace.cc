// A trial of a recorded run of Keras, for test_keras_traces.py: keras_trace CASE PHASE, a file of
// tests/data/trials and the number of a phase in it. It says what happens.
#include "keras_callbacks.h"
#include "keras_data.h"
#include "workloads.h"

#include <fstream>

namespace traces {
namespace {

class RecordedTrial : public keras::Trial {
 public:
  RecordedTrial(keras::TrialContext &context, const Json &spec) : Trial(context), spec_(spec) {
    for (const Json &given : spec.at("configure_fit")) context.configure_fit(fit_options(given));
  }

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

int run(const std::string &file, size_t number) {
  std::ifstream text(file);
  const Json recorded = Json::parse(text);
  const Json phase = recorded.at("phases").at(number).at("phase");
  Json spec = recorded.at("input");
  spec.update(phase.value("spec", Json::object()));
  det::CoreOptions options;
  options.external_id = "recorded";
  options.hparams = spec.at("hparams");
  Json config = spec.value("config", Json::object());
  if (config.value("records_per_epoch", Json()) == "<absent>") config.erase("records_per_epoch");
  if (config.contains("optimizations"))  // a number that no configuration may have
    config["optimizations"].erase("tensor_fusion_cycle_time");
  config["searcher"] = {
      {"name", "single"}, {"metric", "val_loss"}, {"max_length", {{"batches", 1}}}};
  config["reproducibility"] = {{"experiment_seed", spec.value("seed", 0)}};
  options.config = config;
  const det::Core core = det::trials::start(options);
  if (const char *output = std::getenv("OUTPUT_OF_RANKS"))
    if (std::freopen((output + std::to_string(core.distributed().rank())).c_str(), "w", stdout) ==
        nullptr)
      throw std::runtime_error("opening the output of a rank");
  keras::TrialContext context(core);
  RecordedTrial trial(context, spec);
  RecordedWorkloads workloads(phase);
  keras::Controller(trial, context, workloads).run();
  say({"final_weights", weights_of(context.wrapped_model()->model())});
  core.close();
  return 0;
}

}  // namespace
}  // namespace traces

int main(int argc, char **argv) {
  try {
    return argc == 3 ? traces::run(argv[1], std::stoul(argv[2])) : 2;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
