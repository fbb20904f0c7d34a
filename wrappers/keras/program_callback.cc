#include "wrappers/keras/program_callback.h"

#include "wrappers/keras/failures.h"

namespace {

using keras::Metrics;

class ProgramCallback : public keras::Callback {
 public:
  ProgramCallback(const det_keras_callback &given, det_keras_context &context)
      : functions_(given), name_(text_or_empty(given.name)), context_(context) {}

  void on_train_begin() override { tell(DET_KERAS_TRAIN_BEGIN); }
  void on_train_end() override { tell(DET_KERAS_TRAIN_END); }
  void on_epoch_begin(int64_t epoch) override { tell(DET_KERAS_EPOCH_BEGIN, epoch); }
  void on_epoch_end(int64_t epoch) override { tell(DET_KERAS_EPOCH_END, epoch); }
  void on_train_workload_begin(int64_t total, int64_t batches) override {
    tell(DET_KERAS_WORKLOAD_BEGIN, total, batches);
  }
  void on_train_workload_end(int64_t total, const Metrics &metrics) override {
    tell_metrics(DET_KERAS_WORKLOAD_END, total, metrics);
  }
  void on_train_batch_begin(int64_t batch) override { tell(DET_KERAS_BATCH_BEGIN, batch); }
  void on_train_batch_end(int64_t batch, const Metrics &metrics) override {
    tell_metrics(DET_KERAS_BATCH_END, batch, metrics);
  }
  void on_test_begin() override { tell(DET_KERAS_TEST_BEGIN); }
  void on_test_batch_begin(int64_t batch) override { tell(DET_KERAS_TEST_BATCH_BEGIN, batch); }
  void on_test_batch_end(int64_t batch, const Metrics &metrics) override {
    tell_metrics(DET_KERAS_TEST_BATCH_END, batch, metrics);
  }
  void on_test_end(const Metrics &metrics) override {
    tell_metrics(DET_KERAS_TEST_END, 0, metrics);
  }
  void on_checkpoint_end(const std::filesystem::path &directory) override {
    tell_directory(DET_KERAS_CHECKPOINT_END, directory);
  }
  void on_checkpoint_load(const std::filesystem::path &directory) override {
    tell_directory(DET_KERAS_CHECKPOINT_LOAD, directory);
  }

  [[nodiscard]] det::v1::Json get_state() const override {
    const char *state = nullptr;
    if (functions_.get_state != nullptr)
      call_program("get_state()", functions_.get_state, &state, functions_.user_data);
    return {state};
  }
  void load_state(const det::v1::Json &state) override {
    if (functions_.load_state != nullptr)
      call_program("load_state()", functions_.load_state, state.text().c_str(),
                   functions_.user_data);
  }
  [[nodiscard]] std::string name() const override {
    return name_.empty() ? Callback::name() : name_;
  }
  [[nodiscard]] bool is_for_chief_only() const override { return functions_.is_chief_only != 0; }

 private:
  static det_keras_event event(det_keras_event_kind kind, int64_t index = 0, int64_t batches = 0) {
    return {sizeof(det_keras_event), kind, 0, index, batches, nullptr, 0, nullptr};
  }
  void tell(const det_keras_event &event) const {
    if (functions_.on_event != nullptr)
      call_program("on_event()", functions_.on_event, &context_, &event, functions_.user_data);
  }
  void tell(det_keras_event_kind kind, int64_t index = 0, int64_t batches = 0) const {
    tell(event(kind, index, batches));
  }
  void tell_metrics(det_keras_event_kind kind, int64_t index, const Metrics &metrics) {
    if (functions_.on_event == nullptr) return;
    metrics_.clear();
    for (const auto &[name, value] : metrics) metrics_.push_back({name.c_str(), value});
    det_keras_event told = event(kind, index);
    told.metrics = metrics_.data();
    told.metric_count = metrics_.size();
    tell(told);
  }
  void tell_directory(det_keras_event_kind kind, const std::filesystem::path &directory) const {
    det_keras_event told = event(kind);
    told.directory = directory.c_str();
    tell(told);
  }

  const det_keras_callback functions_;
  const std::string name_;
  det_keras_context &context_;
  std::vector<det_metric> metrics_;  // of the last event: its room is used again
};

}  // namespace

std::shared_ptr<keras::Callback> program_callback(const det_keras_callback *given,
                                                  det_keras_context &context) {
  const auto read = read_options<det_keras_callback>(&deref(given, "callback"),
                                                     DET_KERAS_CALLBACK_INIT, "callback");
  return std::make_shared<ProgramCallback>(read, context);
}
