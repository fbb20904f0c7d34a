// A trial of a recorded run of an estimator, for test_estimator_traces.py: estimator_trace CASE
// PHASE, a file of tests/data/trials and the number of a phase in it. It says what happens.
#include "recorded_run.h"
#include "workloads.h"

#include <det/estimator.hpp>

namespace traces {
namespace {

namespace estimator = det::estimator;
using det::nn::Array;
using det::nn::Batch;

// What the recorded user did in its hooks.
template <class Base>
class Recorder : public Base {
 public:
  Recorder(std::string tag, const Json &spec) : tag_(std::move(tag)), spec_(spec) {}

  void begin() override { note("begin"); }
  void after_create_session(const det::nn::Model &) override { note("after_create_session"); }
  void before_run(estimator::RunContext &context) override { note("before_run", &context); }
  void after_run(estimator::RunContext &context, const estimator::RunValues &) override {
    say({"hook", tag_, "after_run", {{"weights", weights_of(context.model())}}});
    act("after_run", &context);
  }
  void end(const det::nn::Model &) override { note("end"); }

 protected:
  void note(const std::string &hook, estimator::RunContext *context = nullptr) {
    say({"hook", tag_, hook});
    act(hook, context);
  }

 private:
  void act(const std::string &hook, estimator::RunContext *context) {
    const int time = ++called_[hook];
    for (const Json &action : spec_.value("actions", Json::array())) {
      if (action.at("hook") != hook || action.at("nth") != time || action.at("tag") != tag_)
        continue;
      const std::string what = action.at("do");
      if (what == "request_stop") context->request_stop();
      else if (what == "invalid_hp") throw det::InvalidHP("refused by a hook");
    }
  }

  std::string tag_;
  const Json &spec_;
  std::map<std::string, int> called_;
};

class RecorderOfCheckpoints : public Recorder<estimator::RunHook> {
 public:
  using Recorder::Recorder;
  void on_checkpoint_load(const std::filesystem::path &) override { note("on_checkpoint_load"); }
  void on_checkpoint_end(const std::filesystem::path &) override { note("on_checkpoint_end"); }
  void on_trial_close() override { note("on_trial_close"); }
};

Json labels_of(const estimator::RunValues &values) {
  const Array &labels = values.batch().truths[0];
  return std::vector<float>(labels.data(), labels.data() + labels.elements());
}
double sum_of(const Json &numbers) {
  double sum = 0;
  for (const Json &one : numbers) sum += one.get<double>();
  return sum;
}
class Sum : public estimator::MetricReducer {
 public:
  Json accumulate(const estimator::RunValues &values) override {
    return sum_ += sum_of(labels_of(values));
  }
  Json cross_slot_reduce(const std::vector<Json> &each) override { return sum_of(each); }

 private:
  double sum_ = 0;
};

class RecordedTrial : public estimator::Trial {
 public:
  RecordedTrial(estimator::TrialContext &context, const Json &spec)
      : Trial(context), spec_(spec), shared_(std::make_shared<Sum>()) {
    say({"trial", "__init__"});
  }

  void say_last() {}

  estimator::Estimator build_estimator() override {
    say({"trial", "build_estimator"});
    return estimator::Estimator(
        [this](auto &features, auto mode) { return linear(features, mode); });
  }
  estimator::TrainSpec build_train_spec() override {
    say({"trial", "build_train_spec"});
    return {[this] { return data("train"); }, hooks("hooks")};
  }
  estimator::EvalSpec build_validation_spec() override {
    say({"trial", "build_validation_spec"});
    estimator::EvalSpec spec{[this] { return data("eval"); }, hooks("eval_hooks")};
    const Json steps = spec_.value("eval_steps", Json(100));
    spec.steps = steps.is_null() ? std::nullopt : std::optional(steps.get<int64_t>());
    return spec;
  }
  estimator::ServingInputReceiverFns build_serving_input_receiver_fns() override {
    say({"trial", "build_serving_input_receiver_fns"});
    return {};
  }

 private:
  estimator::HookList hooks(const char *which) const {
    estimator::HookList all;
    for (const Json &hook : spec_.value(which, Json::array())) {
      if (hook.contains("base"))
        all.push_back(std::make_shared<Recorder<estimator::SessionRunHook>>(hook.at("tag"), spec_));
      else all.push_back(std::make_shared<RecorderOfCheckpoints>(hook.at("tag"), spec_));
    }
    return all;
  }
  det::nn::Dataset data(const char *what) {
    say({"input_fn", what});
    const Json &about = spec_.at(what == std::string("train") ? "train" : "val");
    std::vector<float> x(about.at("n").get<size_t>());
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const auto count = static_cast<int64_t>(x.size());
    const Array column(std::move(x), {count, 1});
    auto dataset = det::nn::Dataset::from_arrays(Batch::of({{"x", column}}, column));
    const int64_t size = context().get_per_slot_batch_size();
    return about.value("form", "dataset") == "dataset"
               ? context().wrap_dataset(dataset).batch(size)
               : context().wrap_dataset(dataset.batch(size));
  }
  estimator::EstimatorSpec linear(estimator::Features &features, estimator::Mode mode) {
    say({"model_fn", mode == estimator::Mode::train ? "train" : "eval"});
    estimator::EstimatorSpec spec;
    spec.predictions.emplace("y", det::nn::dense(1).named("w").use_bias(false).kernel_initializer(
                                      "zeros")(features["x"]));
    spec.compared = "y";
    spec.loss = "mean_squared_error";
    const double rate = spec_.value("lr", 0.001);
    spec.optimizer = context().wrap_optimizer(
        spec_.value("optimizer", "gd") == "adam" ? adam_of_version_one(rate) : det::nn::sgd(rate));
    for (const Json &metric : spec_.value("make_metric", Json::array())) {
      const std::string name = metric.at("name");
      if (metric.value("shared", false)) spec.metrics[name] = make_metric(shared_);
      else if (metric.at("reducer") == "class")
        spec.metrics[name] = estimator::make_metric(std::make_shared<Sum>());
      else
        spec.metrics[name] =
            estimator::make_metric(labels_of, [](const std::vector<Json> &batches) {
              double sum = 0;
              for (const Json &batch : batches) sum += sum_of(batch);
              return Json(sum);
            });
    }
    spec.training_hooks = hooks("model_fn_hooks");
    return spec;
  }
  static det::nn::Optimizer adam_of_version_one(double rate) {
    return det::nn::adam(rate).set("epsilon", 1e-8);
  }

  const Json &spec_;
  std::shared_ptr<Sum> shared_;
};

}  // namespace
}  // namespace traces

int main(int argc, char **argv) {
  return traces::main_of<traces::RecordedTrial>(argc, argv, "loss");
}
