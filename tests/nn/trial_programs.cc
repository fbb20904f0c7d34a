// Trials for test_trial_programs.py and test_det_run.py, which choose them by name, and what is
// done without one: "look" makes a trial by hand, "load" reads the model of a checkpoint, "native"
// trains an estimator without a class, "try" does so in test mode. DIE_ONCE is a file that says it
// has died.
#include <signal.h>

#include <cstdio>
#include <det/estimator.hpp>
#include <det/keras.hpp>
#include <fstream>

namespace {

namespace estimator = det::estimator;
namespace keras = det::keras;
using det::nn::Array;
using det::nn::Batch;

// y = x, of 0 to 9.
Batch ramp(const std::string &name = {}) {
  std::vector<float> x(10);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Array column(std::move(x), {10, 1});
  return name.empty() ? Batch{{column}, {column}} : Batch::of({{name, column}}, column);
}

class Counts : public keras::Callback {
 public:
  void on_train_workload_begin(int64_t total, int64_t batches) override {
    std::printf("workload %d of %d\n", static_cast<int>(total), static_cast<int>(batches));
  }
  void on_train_batch_end(int64_t batch, const det::nn::Metrics &) override {
    if (std::getenv("LEAVE") != nullptr) raise(SIGTERM);
    if (const char *once = std::getenv("DIE_ONCE");
        once != nullptr && batch == 5 && std::ofstream(once, std::ios::in | std::ios::out).fail()) {
      std::ofstream made(once);
      made.close();
      kill(getpid(), SIGKILL);
    }
    if (std::getenv("FAIL") != nullptr && batch == 4) throw std::runtime_error("failed");
  }
  void on_test_batch_end(int64_t batch, const det::nn::Metrics &) override {
    std::printf("tested %d\n", static_cast<int>(batch));
  }
  void on_checkpoint_end(const std::filesystem::path &directory) override {
    std::printf("checkpoint in %s\n", directory.c_str());
  }
};

class RampTrial : public keras::TFKerasTrial {
 public:
  explicit RampTrial(keras::TFKerasTrialContext &context) : keras::TFKerasTrial(context) {
    if (const char *what = std::getenv("FIT"); what != nullptr)
      context.configure_fit(keras::FitOptions().verbose(std::string(what) == "verbose"));
    if (context.get_hparam<double>("learning_rate") > 1) throw det::InvalidHP("too fast");
  }
  keras::TrialModel build_model() override {
    auto model =
        context().wrap_model(det::nn::describe_sequential({det::nn::dense(1)}, {1}, "ramp"));
    model.compile(
        context().wrap_optimizer(det::nn::sgd(context().get_hparam<double>("learning_rate"))),
        "mse");
    return model;
  }
  keras::InputData build_training_data_loader() override { return ramp(); }
  keras::InputData build_validation_data_loader() override { return ramp(); }
  std::vector<std::shared_ptr<keras::Callback>> keras_callbacks() override {
    keras::TensorBoardOptions shown;
    shown.histogram_freq = 2;
    shown.update_freq = 2;
    return {std::make_shared<Counts>(), std::make_shared<keras::callbacks::TensorBoard>(shown)};
  }
};
DET_REGISTER_TRIAL(RampTrial);

estimator::Estimator linear(estimator::EstimatorContext &context) {
  estimator::LinearOptions options;
  options.feature_columns = {estimator::numeric_column("x")};
  options.optimizer = context.wrap_optimizer(det::nn::sgd(0.001));
  return linear_regressor(options);
}
estimator::InputFn data(estimator::EstimatorContext &context) {
  return [&context] {
    return context.wrap_dataset(
        det::nn::Dataset::from_arrays(ramp("x")).batch(context.get_per_slot_batch_size()));
  };
}

// Says what it is told.
class Hook : public estimator::SessionRunHook {
 public:
  explicit Hook(const char *name) : name_(name) {}
  void after_run(estimator::RunContext &, const estimator::RunValues &) override {
    std::printf("%s\n", name_);
  }

 private:
  const char *name_;
};

class LinearTrial : public estimator::EstimatorTrial {
 public:
  using estimator::EstimatorTrial::EstimatorTrial;
  estimator::Estimator build_estimator() override { return linear(context()); }
  estimator::TrainSpec build_train_spec() override {
    return {data(context()), {std::make_shared<Hook>("trained")}};
  }
  estimator::EvalSpec build_validation_spec() override {
    return {data(context()), {std::make_shared<Hook>("evaluated")}};
  }
};
DET_REGISTER_TRIAL(LinearTrial);

det::CoreOptions options() {
  det::CoreOptions options;
  options.external_id = "here";
  options.hparams = R"({"global_batch_size": 3})";
  options.config =
      R"({"searcher": {"name": "single", "metric": "loss", "max_length": {"batches": 4}},
          "hyperparameters": {"global_batch_size": 3}, "data": {"digits": 10}})";
  return options;
}

void train_natively(bool tries) {
  const auto context = det::experimental::estimator::init(options(), tries);
  const estimator::TrainSpec train{data(*context), {std::make_shared<Hook>("trained")}};
  const estimator::EvalSpec evaluation{data(*context), {std::make_shared<Hook>("evaluated")}};
  context->serving_input_receiver_fns["served"] = [] {
    std::printf("served\n");
    return ramp("x").rows(0, 1);
  };
  for (int i = 0; i < 2; ++i) context->train_and_evaluate(linear(*context), train, evaluation);
}

void look() {
  const auto context = keras::TrialContext::from_config(
      R"({"hyperparameters": {"global_batch_size": 2, "learning_rate":
            {"type": "double", "minval": 0.01, "maxval": 0.02}}, "data": {"digits": 10}})");
  RampTrial trial(*context);
  const auto built = trial.build_model();
  const auto &model = built.model();
  model.train_on_batch(ramp().rows(0, context->get_per_slot_batch_size()));
  const auto rate = context->get_hparam<double>("learning_rate");
  std::printf("%s %s %d %d %d\n", context->get_data_config().text().c_str(),
              rate >= 0.01 && rate <= 0.02 ? "drawn" : "not drawn",
              static_cast<int>(model.steps().trained),
              static_cast<int>(context->get_initial_batch()),
              std::filesystem::is_directory(context->get_tensorboard_path()));
}

// Of a checkpoint's directory.
void load(const std::string &directory) {
  const auto model = keras::load_model_from_checkpoint_path(directory);
  std::printf("%s\n", model.weights()[0].name.c_str());
}

}  // namespace

int main(int argc, char **argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  try {
    if (what == "look") look();
    else if (what == "load") load(argv[2]);
    else if (what == "native" || what == "try") train_natively(what == "try");
    else return det::run_registered_trial(argc, argv, options());
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
