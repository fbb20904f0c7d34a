#include "wrappers/keras/callbacks/known_callbacks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/base/error.h"
#include "core/trial/rules/validation_rules.h"
#include "wrappers/keras/checkpoints/weights_copy.h"
#include "wrappers/keras/run/running_trial.h"
#include "wrappers/nn/capi/model_handle.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"

namespace det::keras {

namespace {

using nn::Fields;
using CallbackPtr = std::shared_ptr<Callback>;

[[noreturn]] void refuse_unknown(const std::string &tried, const std::string &kind,
                                 const std::string &name, const std::vector<std::string> &known) {
  throw Error(Code::invalid,
              tried + ": there is no " + kind + " '" + name + "'" + nn::suggestion(name, known));
}

trial::MonitorMode mode_of(Fields &fields) {
  using Mode = trial::MonitorMode;
  const std::vector<std::pair<std::string, Mode>> modes{
      {"auto", Mode::by_name}, {"min", Mode::min}, {"max", Mode::max}};
  const std::string given = fields.text("mode", "auto");
  for (const auto &[name, mode] : modes)
    if (name == given) return mode;
  refuse_unknown("reading " + fields.where(), "mode", given, nn::keys_of(modes));
}

// Of batches or validations.
int64_t count_of(Fields &fields, const char *key, int64_t usual) {
  const int64_t count = fields.integer(key, usual);
  if (count < 0 || count > INT32_MAX)
    throw Error(Code::invalid, "reading " + fields.where() + ": '" + key + "' is a count, not " +
                                   std::to_string(count));
  return count;
}

std::optional<double> metric_of(const Metrics &metrics, const std::string &name) {
  const auto found = metrics.find(name);
  return found == metrics.end() ? std::nullopt : std::optional<double>(found->second);
}

// One that needs to know what it is of.
class KnownCallback : public Callback {
 public:
  void attach(Trial &trial, det_nn_model &model, const std::string &key) override {
    trial_ = &trial;
    model_ = &model;
    key_ = key;
  }

 protected:
  Trial &trial() const { return *trial_; }
  det_nn_model &model() const { return *model_; }
  const std::string &key() const { return key_; }
  static Json read(const std::string &state) {
    return parse_json_object(state, "the state of a callback");
  }

 private:
  Trial *trial_ = nullptr;
  det_nn_model *model_ = nullptr;
  std::string key_;
};

// Stops where validations no longer get better.
class EarlyStopping : public KnownCallback {
 public:
  // With `restores` a trial that it stops ends with the weights of its best validation.
  EarlyStopping(const trial::EarlyStoppingOptions &options, bool restores)
      : monitor_(options.monitor), restores_(restores), rule_(options) {}

  void on(const Event &event) override {
    if (event.kind == DET_KERAS_TEST_END) note(metric_of(*event.metrics, monitor_));
    if (event.kind == DET_KERAS_CHECKPOINT_END && best_)
      best_->save(model(), *event.directory / file_of_best());
    if (event.kind == DET_KERAS_CHECKPOINT_LOAD && restores_ &&
        std::filesystem::exists(*event.directory / file_of_best()))
      best_ = WeightsCopy::load(model(), *event.directory / file_of_best());
  }
  std::optional<std::string> state() const override { return to_metadata_text(rule_.state()); }
  void load_state(const std::string &state) override { rule_.load_state(read(state)); }
  std::string name() const override { return "EarlyStopping"; }

 private:
  void note(std::optional<double> value) {
    const auto [stops, improved] = rule_.update(value);
    if (restores_ && improved) best_.emplace(model());
    if (!stops) return;
    trial().stop_requested = true;
    if (best_) best_->restore(model());
  }
  std::string file_of_best() const { return "best-weights-" + key() + ".safetensors"; }

  const std::string monitor_;
  const bool restores_;
  trial::EarlyStopping rule_;
  std::optional<WeightsCopy> best_;
};

CallbackPtr early_stopping(Fields &fields) {
  trial::EarlyStoppingOptions options;
  options.monitor = fields.text("monitor", "val_loss");
  options.min_delta = fields.number("min_delta", options.min_delta);
  options.patience = count_of(fields, "patience", options.patience);
  options.mode = mode_of(fields);
  options.baseline = fields.number_or_none("baseline");
  const bool restores = fields.flag("restore_best_weights", false);
  options.start_from = count_of(fields, "start_from_epoch", options.start_from);
  return std::make_shared<EarlyStopping>(options, restores);
}

// Lowers the learning rate where validations no longer get better.
class ReduceLROnPlateau : public KnownCallback {
 public:
  explicit ReduceLROnPlateau(const trial::PlateauOptions &options)
      : monitor_(options.monitor), rule_(options) {}

  void on(const Event &event) override {
    if (event.kind != DET_KERAS_TEST_END) return;
    nn::Optimizer &optimizer = model().impl.training().optimizer();
    optimizer.set_learning_rate(
        rule_.update(metric_of(*event.metrics, monitor_), optimizer.learning_rate()).learning_rate);
  }
  std::optional<std::string> state() const override { return to_metadata_text(rule_.state()); }
  void load_state(const std::string &state) override { rule_.load_state(read(state)); }
  std::string name() const override { return "ReduceLROnPlateau"; }

 private:
  const std::string monitor_;
  trial::Plateau rule_;
};

CallbackPtr reduce_lr_on_plateau(Fields &fields) {
  trial::PlateauOptions options;
  options.monitor = fields.text("monitor", "val_loss");
  options.factor = fields.number("factor", options.factor);
  options.patience = count_of(fields, "patience", options.patience);
  options.mode = mode_of(fields);
  options.min_delta = fields.number("min_delta", options.min_delta);
  options.cooldown = count_of(fields, "cooldown", options.cooldown);
  options.min_learning_rate = fields.number("min_lr", options.min_learning_rate);
  return std::make_shared<ReduceLROnPlateau>(options);
}

// What Keras shows in TensorBoard, beside the metrics that every trial has there. Training
// workloads stand in the place of epochs: "epoch_NAME" of each, the learning rate among them, and
// "evaluation_val_NAME_vs_iterations" of validations.
class TensorBoard : public KnownCallback {
 public:
  // Distributions of the weights after every so many workloads, and metrics of every so many
  // batches, "batch_NAME"; 0: none.
  TensorBoard(int64_t histogram_freq, int64_t update_freq)
      : histogram_freq_(histogram_freq), update_freq_(update_freq) {}

  void on(const Event &event) override {
    switch (event.kind) {
      case DET_KERAS_BATCH_END:
        if (update_freq_ > 0 && model().impl.steps() % update_freq_ == 0)
          add("batch_", *event.metrics, "", model().impl.steps());
        return;
      case DET_KERAS_WORKLOAD_END:
        return add_workload(*event.metrics);
      case DET_KERAS_TEST_END:
        return add("evaluation_", *event.metrics, "_vs_iterations", model().impl.steps());
      default:
        return;
    }
  }
  std::optional<std::string> state() const override {
    return Json{{"workload_end_count", workloads_}}.dump();
  }
  void load_state(const std::string &state) override {
    workloads_ = read(state).at("workload_end_count").get<int64_t>();
  }
  std::string name() const override { return "TensorBoard"; }
  bool is_for_chief_only() const override { return true; }

 private:
  void add_workload(const Metrics &metrics) {
    add("epoch_", metrics, "", workloads_);
    add_scalar("epoch_learning_rate", workloads_,
               model().impl.training().optimizer().learning_rate());
    if (histogram_freq_ > 0 && workloads_ % histogram_freq_ == 0) {
      model().impl.check_built();
      for (const nn::Weight &weight : model().impl.weights().all()) add_histogram(weight);
    }
    ++workloads_;
  }
  void add(const std::string &before, const Metrics &metrics, const std::string &behind,
           int64_t step) const {
    for (const auto &[name, value] : metrics) add_scalar(before + name + behind, step, value);
  }
  void add_scalar(const std::string &tag, int64_t step, double value) const {
    call(det_tensorboard_add_scalar, det_core_tensorboard(trial().core()), tag.c_str(), step,
         value);
  }
  // Numbers that are not finite have no distribution.
  void add_histogram(const nn::Weight &weight) const {
    const std::span<const float> numbers = weight.value.elements();
    if (!numbers.empty() &&
        std::ranges::all_of(numbers, [](float number) { return std::isfinite(number); }))
      call(det_tensorboard_add_histogram_float, det_core_tensorboard(trial().core()),
           weight.name.c_str(), workloads_, numbers.data(), numbers.size());
  }

  const int64_t histogram_freq_, update_freq_;
  int64_t workloads_ = 0;
};

CallbackPtr tensor_board(Fields &fields) {
  const int64_t histogram_freq = count_of(fields, "histogram_freq", 0);
  return std::make_shared<TensorBoard>(histogram_freq, count_of(fields, "update_freq", 0));
}

// Which parts of a whole are worth a line: each new tenth of it.
class Tenths {
 public:
  explicit Tenths(int64_t whole = 0) : whole_(whole) {}

  std::optional<std::string> line(int64_t done) {
    const int64_t percent = whole_ > 0 ? done * 100 / whole_ : 100;
    if (percent / 10 <= told_) return std::nullopt;
    told_ = percent / 10;
    return std::to_string(percent) + "% complete (" + std::to_string(done) + "/" +
           std::to_string(whole_) + ")";
  }

 private:
  int64_t whole_, told_ = -1;
};

// How long a validation is, is known after the first.
class ProgressPrinter : public Callback {
 public:
  void on(const Event &event) override {
    switch (event.kind) {
      case DET_KERAS_WORKLOAD_BEGIN:
        total_ = event.index;
        done_ = 0;
        training_ = Tenths(event.batches);
        return tell_training({});
      case DET_KERAS_BATCH_END:
        ++total_;
        ++done_;
        return tell_training(*event.metrics);
      case DET_KERAS_TEST_BEGIN:
        tested_ = 0;
        validation_ = Tenths(validation_length_);
        return tell_validation({});
      case DET_KERAS_TEST_BATCH_END:
        ++tested_;
        return tell_validation(*event.metrics);
      case DET_KERAS_TEST_END:
        validation_length_ = tested_;
        return;
      default:
        return;
    }
  }

  std::optional<std::string> state() const override {
    return Json{{"validation_len", validation_length_}, {"trained_total", total_}}.dump();
  }
  void load_state(const std::string &state) override {
    const Json said = parse_json_object(state, "the state of a callback");
    validation_length_ = said.at("validation_len").get<int64_t>();
    total_ = said.at("trained_total").get<int64_t>();
  }
  std::string name() const override { return "ProgressPrinter"; }
  bool is_for_chief_only() const override { return true; }

 private:
  void tell_training(const Metrics &metrics) {
    if (const auto line = training_.line(done_))
      print("total batches trained: " + std::to_string(total_) + ", workload " + *line, metrics);
  }
  void tell_validation(const Metrics &metrics) {
    if (validation_length_ == 0) return;
    if (const auto line = validation_.line(tested_))
      print("validation after batch: " + std::to_string(total_) + ", validation " + *line, metrics);
  }
  static void print(std::string line, const Metrics &metrics) {
    const char *before = ": ";
    for (const auto &[name, value] : metrics) {
      char number[32];
      std::snprintf(number, sizeof number, "%.6g", value);
      line += std::exchange(before, ", ") + name + " " + number;
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  int64_t total_ = 0, done_ = 0, tested_ = 0, validation_length_ = 0;
  Tenths training_, validation_;
};

}  // namespace

CallbackPtr known_callback(const Json &given) {
  const std::map<std::string, CallbackPtr (*)(Fields &)> known{
      {"EarlyStopping", early_stopping},
      {"ReduceLROnPlateau", reduce_lr_on_plateau},
      {"TensorBoard", tensor_board},
  };
  const nn::NamedConfig named = nn::named_config(given, "a callback");
  const auto make = known.find(named.name);
  if (make == known.end())
    refuse_unknown("adding a callback", "callback", named.name, nn::keys_of(known));
  Fields fields(named.config, "the callback " + named.name);
  CallbackPtr made = make->second(fields);
  fields.finish();
  return made;
}

CallbackPtr progress_printer() { return std::make_shared<ProgressPrinter>(); }

}  // namespace det::keras
