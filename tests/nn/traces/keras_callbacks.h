// Callbacks of the recorded runs of Keras.
#pragma once

#include "events.h"

#include <det/keras.hpp>

namespace traces {

namespace keras = det::keras;
using det::nn::Metrics;

// What the recorded user did in its hooks.
class Recorder : public keras::Callback {
 public:
  Recorder(std::string tag, const std::string &kind, const Json &spec, keras::TrialContext &context)
      : tag_(std::move(tag)), kind_(kind), spec_(spec), context_(context) {}

  void on_train_begin() override { note("on_train_begin"); }
  void on_train_end() override { note("on_train_end"); }
  void on_epoch_begin(int64_t epoch) override { note("on_epoch_begin", epoch); }
  void on_epoch_end(int64_t epoch) override {
    if (ends_with("epoch")) note("on_epoch_end", epoch);
  }
  void on_train_workload_begin(int64_t total, int64_t batches) override {
    if (is_ours()) note("on_train_workload_begin", total, batches);
  }
  void on_train_workload_end(int64_t total, const Metrics &metrics) override {
    if (is_ours()) note("on_train_workload_end", total, metrics);
  }
  void on_train_batch_begin(int64_t batch) override { note("on_train_batch_begin", batch); }
  void on_train_batch_end(int64_t batch, const Metrics &metrics) override {
    say_hook("on_train_batch_end", batch, metrics);
    if (tag_ == "A" && spec_.value("weights", false)) say({"weights", weights_of(model())});
    act("on_train_batch_end");
  }
  void on_test_begin() override { note("on_test_begin"); }
  void on_test_batch_begin(int64_t batch) override { note("on_test_batch_begin", batch); }
  void on_test_batch_end(int64_t batch, const Metrics &metrics) override {
    note("on_test_batch_end", batch, metrics);
  }
  void on_test_end(const Metrics &metrics) override { note("on_test_end", metrics); }
  void on_checkpoint_end(const std::filesystem::path &) override {
    if (is_ours()) note("on_checkpoint_end");
  }
  det::Json get_state() const override {
    return is_ours() ? det::Json(Json{{"tag", tag_}}) : det::Json();
  }
  void load_state(const det::Json &state) override {
    say({"hook", tag_, "load_state", state.as<Json>()});
  }
  std::string name() const override { return "Recorder" + tag_; }
  bool is_for_chief_only() const override { return ends_with("chief"); }

 private:
  bool is_ours() const { return kind_.rfind("plain", 0) != 0; }
  bool ends_with(const std::string &end) const {
    return kind_.size() > end.size() && kind_.substr(kind_.size() - end.size()) == end;
  }
  template <class... Arguments>
  void say_hook(const char *hook, const Arguments &...arguments) {
    Json event = {"hook", tag_, hook};
    (event.push_back(arguments), ...);
    say(event);
  }
  template <class... Arguments>
  void note(const char *hook, const Arguments &...arguments) {
    say_hook(hook, arguments...);
    act(hook);
  }
  void act(const std::string &hook) {
    const int time = ++called_[hook];
    for (const Json &action : spec_.value("actions", Json::array())) {
      if (action.at("hook") != hook || action.at("nth") != time ||
          action.value("tag", tag_) != tag_)
        continue;
      const std::string what = action.at("do");
      if (what == "stop_training") stop_training();
      else if (what == "set_stop_requested") context_.set_stop_requested(true);
      else if (what == "set_lr") model().set_learning_rate(action.at("lr"));
      else if (what == "invalid_hp") throw det::InvalidHP("refused by a hook");
      else throw std::runtime_error("raised by a hook");
    }
  }

  std::string tag_, kind_;
  const Json &spec_;
  keras::TrialContext &context_;
  std::map<std::string, int> called_;
};

inline std::shared_ptr<keras::Callback> early_stopping(const Json &given) {
  det::EarlyStoppingOptions options;
  options.monitor = given.value("monitor", options.monitor);
  options.patience = given.value("patience", options.patience);
  options.min_delta = given.value("min_delta", options.min_delta);
  options.start_from = given.value("start_from_epoch", options.start_from);
  if (given.contains("baseline")) options.baseline = given["baseline"].get<double>();
  return std::make_shared<keras::EarlyStopping>(options,
                                                given.value("restore_best_weights", false));
}
inline std::shared_ptr<keras::Callback> reduce_lr(const Json &given) {
  det::PlateauOptions options;
  options.monitor = given.value("monitor", options.monitor);
  options.patience = given.value("patience", options.patience);
  options.min_delta = given.value("min_delta", options.min_delta);
  options.factor = given.value("factor", options.factor);
  return std::make_shared<keras::ReduceLROnPlateau>(options);
}

}  // namespace traces
