// Trains a trial, workload by workload.
#pragma once

#include <det/keras/checkpoint.hpp>
#include <det/keras/feed.hpp>
#include <det/keras/input_names.hpp>
#include <det/trials/ranks.hpp>
#include <det/trials/responses.hpp>
#include <det/trials/run.hpp>

namespace det {
inline namespace v1 {
namespace keras {

// Every rank has one, and all are called in step.
class Controller {
 public:
  // The workloads outlive it.
  Controller(Trial &trial, TrialContext &context, trials::WorkloadSource &workloads)
      : context_(context),
        config_(nlohmann::ordered_json::parse(context.get_experiment_config().text())),
        training_(context, configured(trial.build_training_data_loader())),
        validation_(context, trial.build_validation_data_loader()),
        model_(built(trial)),
        input_names_(model_),
        callbacks_(callbacks_of(trial), model_, context.core()),
        workloads_(workloads) {
    const auto records = config_.find("records_per_epoch");
    if (records != config_.end() && records->is_number_integer() && records->get<int64_t>() > 0)
      batches_per_epoch_ =
          std::max<int64_t>(1, records->get<int64_t>() / context.get_global_batch_size());
  }

  // Until there are no more workloads.
  void run() {
    build_from_first_batch();
    std::optional<CheckpointReader> restore;
    std::optional<nlohmann::ordered_json> states;
    if (const char *latest = context_.core().info().latest_checkpoint(); latest != nullptr) {
      restore.emplace(context_.core().checkpoint().read(latest));
      const std::filesystem::path directory = restore->path();
      trials::check_kind(directory, detail::trial_type);
      states = trials::read_json(directory / detail::callbacks_file);
      const auto sequencer = trials::read_json(directory / trials::sequencer_file);
      trials::load_model(*restore, model_, detail::model_files);
      workloads_.load_state(sequencer);
    }
    ranks_.emplace(context_.distributed(), model_, trials::gradient_options(config_));
    callbacks_.call(&Callback::on_train_begin);
    if (states) {
      progress_ = detail::load_callbacks(*states, callbacks_);
      callbacks_.call(&Callback::on_checkpoint_load, std::filesystem::path(restore->path()));
      restore.reset();
    }
    next_to_train_ = training_.training(context_.core().info().steps_completed());
    trials::do_workloads(
        workloads_, [&](int64_t batches) { return train(batches); }, [&] { return validate(); },
        [&] { return save(); });
    callbacks_.call(&Callback::on_train_end);
  }

 private:
  const nn::Model &built(Trial &trial) {
    (void)trial.build_model();
    const auto &wrapped = context_.wrapped_model();
    if (!wrapped)
      throw std::logic_error("building the model of a trial: give it to context().wrap_model()");
    if (!wrapped->is_compiled())
      throw std::logic_error("building the model of a trial: compile() what wrap_model() gave");
    return wrapped->model();
  }

  [[nodiscard]] std::vector<std::shared_ptr<Callback>> callbacks_of(Trial &trial) const {
    std::vector<std::shared_ptr<Callback>> all = trial.keras_callbacks();
    if (context_.fit().verbose())
      all.insert(all.begin(), std::make_shared<detail::ProgressPrinter>());
    return all;
  }

  // Gives weights to a model that does not say what comes in.
  void build_from_first_batch() const {
    Failure failure;
    (void)model_.weights(failure);
    if (failure && failure.code() == Code::state)
      (void)model_.predict_on_batch(input_names_.in_order(training_.first()).inputs);
  }

  // What an adapter of the training data says is said to the context.
  InputData configured(InputData data) {
    if (const auto &adapter = data.adapter()) {
      context_.configure_fit(
          FitOptions().workers(adapter->workers).max_queue_size(adapter->max_queue_size));
    }
    return data;
  }

  nlohmann::ordered_json train(int64_t batches) {
    model_.reset_metrics();
    nlohmann::ordered_json each = nlohmann::ordered_json::array();
    for (int64_t batch = 0; batch < batches; ++batch) {
      if (std::exchange(progress_.wants_epoch_begin, false))
        callbacks_.call(&Callback::on_epoch_begin, progress_.epoch);
      if (batch == 0)
        callbacks_.call(&Callback::on_train_workload_begin, progress_.total_batches, batches);
      callbacks_.call(&Callback::on_train_batch_begin, progress_.batches_of_epoch);
      train_one();
      const Metrics metrics = model_.metrics();
      each.push_back(metrics);
      callbacks_.call(&Callback::on_train_batch_end, progress_.batches_of_epoch, metrics);
      ++progress_.total_batches;
      if (++progress_.batches_of_epoch == batches_per_epoch_) {
        callbacks_.call(&Callback::on_epoch_end, progress_.epoch);
        ++progress_.epoch;
        progress_.batches_of_epoch = 0;
        progress_.wants_epoch_begin = true;
      }
      note_stop();
    }
    const Metrics metrics = trials::of_training(context_.distributed(), config_, model_.metrics());
    callbacks_.call(&Callback::on_train_workload_end, progress_.total_batches, metrics);
    note_stop();
    return trials::trained(context_, batches, each, metrics);
  }

  void train_one() {
    std::optional<Batch> batch = next_to_train_();
    if (!batch) throw std::logic_error("training a trial: there are no more batches");
    *batch = input_names_.in_order(std::move(*batch));
    if (const auto &weights = context_.fit().class_weight())
      batch = weighted(std::move(*batch), *weights);
    ranks_->train_on_batch(model_, *batch);
  }

  nlohmann::ordered_json validate() {
    ranks_->share_untrained(model_);
    model_.reset_metrics();
    callbacks_.call(&Callback::on_test_begin);
    const nn::Generator next = validation_.validation(workloads_.batches_of_validation());
    int64_t batch = 0;
    for (; const std::optional<Batch> records = next(); ++batch) {
      callbacks_.call(&Callback::on_test_batch_begin, batch);
      model_.test_on_batch(input_names_.in_order(*records));
      callbacks_.call(&Callback::on_test_batch_end, batch, model_.metrics());
    }
    if (batch == 0) trials::refuse_validation(context_.distributed());
    Metrics metrics;
    for (const auto &[name, value] : trials::averaged(context_.distributed(), model_.metrics()))
      metrics["val_" + name] = value;
    callbacks_.call(&Callback::on_test_end, metrics);
    note_stop();
    return trials::validated(context_, batch, metrics);
  }

  nlohmann::ordered_json save() {
    auto response = trials::saved(
        context_, progress_.total_batches, "saved_weights", [&](const CheckpointWriter &to) {
          detail::save(to, context_, model_, callbacks_, progress_, workloads_.state());
        });
    note_stop();
    response["stop_requested"] = context_.get_stop_requested();
    return response;
  }

  void note_stop() {
    if (callbacks_.take_stop()) context_.set_stop_requested(true);
  }

  TrialContext &context_;
  const nlohmann::ordered_json config_;
  const Feed training_, validation_;
  const nn::Model &model_;
  const detail::InputNames input_names_;
  const Callbacks callbacks_;
  trials::WorkloadSource &workloads_;
  std::optional<trials::Ranks> ranks_;
  nn::Generator next_to_train_;
  std::optional<int64_t> batches_per_epoch_;
  detail::Progress progress_;
};

}  // namespace keras
}  // namespace v1
}  // namespace det
