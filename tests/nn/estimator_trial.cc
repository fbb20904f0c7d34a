// A trial for test_estimator.py: it writes what is called, one JSON array per line, and the metrics
// that were reported. MODEL chooses what is trained, and CONFIG how. With DIE_AFTER_BATCH=N its
// process dies when hooks see that batch; FIRST_WEIGHTS are written into the model there after its
// first batch; a hook of the name STOP_IN, FAIL_IN or REFUSE_IN does so; BREAK is a rule that it
// breaks. SERVING has names of models that are written for serving, and LOAD is a checkpoint to
// predict with instead. WARM_START is one whose weights it begins with, and CACHED has it keep its
// data in files.
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <det/client.hpp>
#include <det/estimator.hpp>
#include <sstream>

namespace {

using namespace det::estimator;
using det::nn::Array;
using det::nn::Batch;
using Event = nlohmann::ordered_json;

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text != nullptr ? text : "";
}

bool is_chief = true;
std::string rank;

void say(const Event &event) {
  if (!is_chief) return;
  std::printf("%s\n", event.dump().c_str());
  std::fflush(stdout);
}

Event weights_of(const det::nn::Model &model) {
  Event all = Event::array();
  for (const det::Tensor &weight : model.weights()) {
    const auto *first = static_cast<const float *>(weight.data);
    all.push_back(std::vector<float>(first, first + weight.elements()));
  }
  return all;
}

void set_weights(const det::nn::Model &model, const Event &all) {
  const std::vector<det::Tensor> weights = model.weights();
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto numbers = all.at(i).get<std::vector<float>>();
    std::copy(numbers.begin(), numbers.end(), static_cast<float *>(weights[i].data));
  }
}

Event labels_of(const RunValues &values) {
  const Array &labels = values.batch().truths[0];
  return std::vector<float>(labels.data(), labels.data() + labels.elements());
}

// REFUSE_RANK: of one rank only.
bool refuses_here() { return variable("REFUSE_RANK").empty() || variable("REFUSE_RANK") == rank; }

// Of trainings, of evaluations (E) and of the model (M).
template <class Base>
class Teller : public Base {
 public:
  explicit Teller(std::string name) : name_(std::move(name)) {}

  void begin() override { say({"hook", name_, "begin"}); }
  void after_create_session(const det::nn::Model &) override {
    say({"hook", name_, "after_create_session"});
  }
  void before_run(RunContext &) override { say({"hook", name_, "before_run"}); }
  void after_run(RunContext &context, const RunValues &values) override {
    const bool trains = name_ != "E" && name_ != "M";
    if (const std::string first = variable("FIRST_WEIGHTS");
        trains && values.global_step() == 1 && !first.empty())
      set_weights(context.model(), Event::parse(first));
    say({"hook", name_, "after_run", weights_of(context.model())});
    if (name_ == "A" && !variable("CACHED").empty()) say({"labels", labels_of(values)});
    if (variable("STOP_IN") == name_) context.request_stop();
    if (variable("FAIL_IN") == name_) throw std::runtime_error("a hook failed");
    if (variable("REFUSE_IN") == name_ && refuses_here()) throw det::InvalidHP("refused by a hook");
    if (trains && std::to_string(values.global_step()) == variable("DIE_AFTER_BATCH"))
      kill(getpid(), SIGKILL);
  }
  void end(const det::nn::Model &) override { say({"hook", name_, "end"}); }

 protected:
  std::string name_;
};

class Checkpoints : public Teller<RunHook> {
 public:
  using Teller::Teller;
  void on_checkpoint_load(const std::filesystem::path &directory) override {
    say({"hook", name_, "on_checkpoint_load",
         std::filesystem::exists(directory / ("user-" + name_))});
  }
  void on_checkpoint_end(const std::filesystem::path &directory) override {
    det::trials::write_text(directory / ("user-" + name_), "kept");
    say({"hook", name_, "on_checkpoint_end"});
  }
  void on_trial_close() override {
    say({"hook", name_, "on_trial_close"});
    if (variable("BREAK") == "closing") throw std::runtime_error("closing " + name_ + " failed");
  }
};
using Session = Teller<SessionRunHook>;

// y = x, of 0 to 9.
Batch ramp() {
  std::vector<float> x(10);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Array column(std::move(x), {10, 1});
  return Batch::of({{"x", column}}, column);
}

Batch exclusive_or() {
  return Batch::of({{"x", Array(std::vector<float>{0, 0, 0, 1, 1, 0, 1, 1}, {4, 2})}},
                   Array(std::vector<int32_t>{0, 1, 1, 0}, {4, 1}));
}

DNNOptions of_exclusive_or() {
  DNNOptions options;
  options.hidden_units = {4};
  options.feature_columns = {numeric_column("x", {2})};
  options.activation_fn = det::nn::sigmoid;
  return options;
}

// Two features, and a label that follows from them.
Batch waves(int64_t classes) {
  constexpr size_t records = 48;
  std::vector<double> height(records);
  std::vector<int64_t> place(records), label(records);
  for (size_t i = 0; i < records; ++i) {
    height[i] = std::sin(static_cast<double>(5 * i + 1));
    place[i] = static_cast<int64_t>(i * i % 5);
    label[i] = (static_cast<int64_t>(2 * height[i] + 3) + place[i]) % classes;
  }
  return Batch::of({{"height", std::move(height)}, {"place", std::move(place)}}, std::move(label));
}

double sum_of(const Event &numbers) {
  double sum = 0;
  for (const Event &one : numbers) sum += one.get<double>();
  return sum;
}
// The sum of all labels.
class Sum : public MetricReducer {
 public:
  Event accumulate(const RunValues &values) override {
    sum_ += sum_of(labels_of(values));
    return {{"sum", sum_}, {"batches", ++batches_}};
  }
  Event cross_slot_reduce(const std::vector<Event> &per_slot_metrics) override {
    say({"reducer", per_slot_metrics});
    double sum = 0;
    for (const Event &of_rank : per_slot_metrics) sum += of_rank["sum"].get<double>();
    return sum;
  }

 private:
  double sum_ = 0;
  int64_t batches_ = 0;
};

class TestTrial : public EstimatorTrial {
 public:
  explicit TestTrial(TrialContext &context) : EstimatorTrial(context) {
    is_chief = context.distributed().rank() == 0;
    rank = std::to_string(context.distributed().rank());
    say({"trial", "__init__"});
    if (variable("REFUSE_IN") == "trial" && refuses_here())
      throw det::InvalidHP("refused by the trial");
  }

  Estimator build_estimator() override {
    say({"trial", "build_estimator"});
    Estimator estimator = of_model();
    if (const std::string from = variable("WARM_START"); !from.empty())
      estimator.warm_start_from(from);
    return estimator;
  }
  TrainSpec build_train_spec() override {
    say({"trial", "build_train_spec"});
    return {[this] { return data("train"); },
            {std::make_shared<Checkpoints>("A"), std::make_shared<Checkpoints>("B"),
             std::make_shared<Session>("S")}};
  }
  EvalSpec build_validation_spec() override {
    say({"trial", "build_validation_spec"});
    EvalSpec spec{[this] { return data("eval"); }, {std::make_shared<Session>("E")}};
    if (const std::string steps = variable("EVAL_STEPS"); !steps.empty())
      spec.steps = std::stoll(steps);
    if (breaks("eval_hooks")) spec.hooks.push_back(nullptr);
    if (breaks("eval_input_fn")) spec.input_fn = nullptr;
    return spec;
  }

  ServingInputReceiverFns build_serving_input_receiver_fns() override {
    say({"trial", "build_serving_input_receiver_fns"});
    ServingInputReceiverFns all;
    std::istringstream names(variable("SERVING"));
    for (std::string name; names >> name;)
      all[name] = [this] {
        say({"serving_fn", "called"});
        if (breaks("receiver")) return Batch::of({{"width", Array(std::vector<float>(1))}});
        return records().rows(0, 1);
      };
    return all;
  }

 private:
  EstimatorSpec linear(Features &features, Mode mode) {
    say({"model_fn", mode == Mode::train ? "train" : mode == Mode::evaluate ? "eval" : "infer"});
    EstimatorSpec spec;
    spec.predictions.emplace("y", det::nn::dense(1).named("w").use_bias(false).kernel_initializer(
                                      "zeros")(features["x"]));
    spec.compared = breaks("comparing") ? "z" : "y";
    spec.loss = "mean_squared_error";
    if (!breaks("optimizer")) spec.optimizer = wrapped(det::nn::sgd(0.001));
    spec.summaries["w_value"] = [](const RunValues &values) {
      return static_cast<double>(*static_cast<const float *>(values.weight("w/kernel").data));
    };
    if (!variable("METRICS").empty()) {
      spec.metrics["class"] = make_metric(std::make_shared<Sum>());
      spec.metrics["function"] = make_metric(labels_of, [](const std::vector<Event> &batches) {
        double sum = 0;
        for (const Event &batch : batches) sum += sum_of(batch);
        return sum;
      });
      spec.metrics["list"] = make_metric(labels_of, [](const std::vector<Event> &batches) {
        std::vector<double> sums;
        for (const Event &batch : batches) sums.push_back(sum_of(batch));
        std::sort(sums.begin(), sums.end());
        return Event(sums);
      });
    }
    spec.training_hooks = {std::make_shared<Session>("M")};
    return spec;
  }

  Estimator of_model() {
    if (model_ == "linear")
      return Estimator([this](Features &features, Mode mode) { return linear(features, mode); });
    if (model_ == "dnn") {
      DNNOptions options = of_exclusive_or();
      options.optimizer = wrapped(det::nn::sgd(0.5));
      return dnn_classifier(options);
    }
    return over_waves();
  }

  Estimator over_waves() {
    const DenseColumn height = bucketized_column(numeric_column("height"), {-0.5, 0, 0.5});
    const auto places = categorical_column_with_identity("place", 5);
    const DenseColumn place = indicator_column(places);
    if (model_ == "dropped" || model_.compare(0, 3, "dnn") == 0) {
      DNNOptions options;
      options.hidden_units = {8, 6};
      options.feature_columns = {numeric_column("height"), place};
      if (model_ == "dropped") options.feature_columns[1] = embedding_column(places, 3);
      options.optimizer = wrapped(det::nn::adagrad(0.1));
      options.batch_norm = model_ == "dropped";
      options.dropout = options.batch_norm ? 0.2 : 0;
      options.n_classes = options.batch_norm ? 3 : 2;
      return model_ == "dnn_regressor" ? dnn_regressor(options) : dnn_classifier(options);
    }
    LinearOptions options;
    options.feature_columns = {height, place};
    options.optimizer = wrapped(det::nn::sgd(0.05, 0.9));
    return model_ == "linear_regressor" ? linear_regressor(options) : linear_classifier(options);
  }

  det::nn::Optimizer wrapped(const det::nn::Optimizer &optimizer) {
    return breaks("wrap_optimizer") ? optimizer : context().wrap_optimizer(optimizer);
  }
  [[nodiscard]] Batch records() const {
    return model_ == "linear" ? ramp()
           : model_ == "dnn"  ? exclusive_or()
                              : waves(model_ == "dropped" || breaks("labels") ? 3 : 2);
  }
  det::nn::Dataset data(const char *what) {
    say({"input_fn", what});
    const int64_t size = context().get_per_slot_batch_size();
    const auto make = [this] {
      say({"make_dataset"});
      return det::nn::Dataset::from_arrays(records());
    };
    if (!variable("CACHED").empty())
      return (what == std::string("train")
                  ? context().experimental().cache_train_dataset("records", "1", make, true)
                  : context().experimental().cache_validation_dataset("records", "1", make))
          .batch(size);
    auto dataset = det::nn::Dataset::from_arrays(records());
    if (breaks("data")) dataset = dataset.take(0);
    if (model_ == "dropped" && what == std::string("train")) dataset = dataset.shuffle(20, 5);
    if (breaks("batch")) return context().wrap_dataset(dataset);
    if (breaks("wrap_dataset")) return dataset.batch(size);
    return context().wrap_dataset(dataset).batch(size);
  }
  static bool breaks(const char *rule) { return variable("BREAK") == rule; }

  const std::string model_ = variable("MODEL");
};

void predict_with(const std::filesystem::path &checkpoint) {
  const bool is_linear = variable("MODEL") == "linear";
  const SavedModel model = is_linear ? load_estimator_from_checkpoint_path(checkpoint)
                                     : load_estimator_from_checkpoint_path(
                                           checkpoint, dnn_classifier(of_exclusive_or()));
  say({"inputs", model.inputs()});
  for (const auto &[name, numbers] :
       model.predict(is_linear ? ramp().rows(0, 3) : exclusive_or())) {
    const size_t count = numbers.elements();
    if (numbers.has_texts()) {
      const auto texts = det::nn::texts_of(numbers);
      say({"texts", name, std::vector<std::string>(texts.begin(), texts.end())});
    } else if (numbers.dtype() == det::Dtype::f32)
      say({"prediction", name, std::vector<float>(numbers.data(), numbers.data() + count)});
    else
      say({"classes",
           std::vector<int64_t>(numbers.data<int64_t>(), numbers.data<int64_t>() + count)});
  }
}

int predict() {
  try {
    predict_with(variable("LOAD"));
    return 0;
  } catch (const std::exception &refused) {
    std::fprintf(stderr, "%s\n", refused.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (!variable("LOAD").empty()) return predict();
  det::CoreOptions options;
  options.external_id = "small";
  const std::string hparams = variable("HPARAMS"), config = variable("CONFIG");
  options.hparams = hparams;
  options.config = config;
  if (const int failed = det::run_trial<TestTrial>(argc, argv, options); failed != 0) return failed;
  if (!is_chief) return 0;
  const det::Client client = det::Client::open();
  const auto reported = client.list_metrics(1).as<Event>();
  for (const Event &one : reported["metrics"]) say({"metrics", one["group"], one});
  return 0;
}
