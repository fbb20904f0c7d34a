// Trains a trial, workload by workload.
#pragma once

#include <det/estimator/graph.hpp>
#include <det/estimator/input.hpp>
#include <det/trials/files.hpp>
#include <det/trials/load_data.hpp>
#include <det/trials/responses.hpp>
#include <det/trials/run.hpp>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

inline constexpr const char *trial_type = "det::estimator::Trial";
inline constexpr trials::ModelFiles model_files = {"graph.json", "model.safetensors",
                                                   "optimizer.safetensors"};

}  // namespace detail

// Every rank has one, and all are called in step.
class Controller {
 public:
  // The workloads outlive it.
  Controller(Trial &trial, TrialContext &context, trials::WorkloadSource &workloads)
      : context_(context),
        config_(nlohmann::ordered_json::parse(context.get_experiment_config().text())),
        estimator_(trial.build_estimator()),
        train_spec_(trial.build_train_spec()),
        eval_spec_(trial.build_validation_spec()),
        serving_(trial.build_serving_input_receiver_fns()),
        hooks_(train_spec_.hooks),
        workloads_(workloads) {
    for (const auto &[name, function] : serving_) {
      if (!function || name.empty() || name == "." || name == ".." ||
          std::filesystem::path(name).filename() != name)
        throw std::invalid_argument("building a trial: the serving input receiver '" + name +
                                    "' has no function, or no name that a directory can have");
      if (trials::is_of_checkpoints(name, detail::model_files))
        throw std::invalid_argument("building a trial: the serving input receiver '" + name +
                                    "' needs another name: checkpoints have a file of that name");
    }
    if (!train_spec_.input_fn || !eval_spec_.input_fn)
      throw std::invalid_argument("building a trial: a spec has no input_fn");
    (void)Hooks(eval_spec_.hooks);
    if (eval_spec_.steps.value_or(1) < 1)
      throw std::invalid_argument("building a trial: an evaluation of " +
                                  std::to_string(*eval_spec_.steps) +
                                  " steps; it has 1 or more, or none given for all");
  }

  // Until there are no more workloads.
  void run() {
    std::exception_ptr failure;
    try {
      begin();
      trials::do_workloads(
          workloads_, [&](int64_t batches) { return train(batches); }, [&] { return validate(); },
          [&] { return save(); });
    } catch (...) {
      failure = std::current_exception();
    }
    failure = hooks_.close(std::move(failure));
    if (failure != nullptr) std::rethrow_exception(std::move(failure));
  }

 private:
  void begin() {
    std::optional<CheckpointReader> restore;
    if (const char *latest = context_.core().info().latest_checkpoint(); latest != nullptr) {
      restore.emplace(context_.core().checkpoint().read(latest));
      trials::check_kind(restore->path(), detail::trial_type);
      hooks_.call(&RunHook::on_checkpoint_load, std::filesystem::path(restore->path()));
    }
    batches_trained_ = context_.core().info().steps_completed();
    training_.emplace(dataset_of(context_, train_spec_.input_fn).repeat().iterate(),
                      batches_trained_);
    graph_.emplace(estimator_.model_fn(), Mode::train, *training_->peek(),
                   context_.get_trial_seed());
    if (!context_.has_wrapped_optimizer())
      throw std::logic_error(
          "building the model of a trial: give its optimizer to context().wrap_optimizer()");
    hooks_of_model_ = Hooks(graph_->spec().training_hooks);
    if (restore) {
      trials::load_model(*restore, graph_->model(), detail::model_files);
      workloads_.load_state(
          trials::read_json(std::filesystem::path(restore->path()) / trials::sequencer_file));
    } else if (const auto &checkpoint = estimator_.warm_start()) {
      Tensors(*checkpoint / detail::model_files.weights).read(graph_->model().weights());
    }
    ranks_.emplace(context_.distributed(), graph_->model(), trials::gradient_options(config_));
    hooks_.call(&SessionRunHook::begin);
  }

  nlohmann::ordered_json train(int64_t batches) {
    if (!std::exchange(has_session_, true)) {
      hooks_of_model_.call(&SessionRunHook::begin);
      hooks_.call(&SessionRunHook::after_create_session, graph_->model());
      hooks_of_model_.call(&SessionRunHook::after_create_session, graph_->model());
    }
    nlohmann::ordered_json each = nlohmann::ordered_json::array();
    nn::Metrics means;
    for (int64_t batch = 0; batch < batches; ++batch) {
      const nn::Metrics summaries = train_one();
      for (const auto &[name, value] : summaries)
        means[name] += value / static_cast<double>(batches);
      each.push_back(summaries);
    }
    return trials::trained(context_, batches, each,
                           trials::of_training(context_.distributed(), config_, means));
  }

  // As in the reference, hooks of the model see a batch when the next one is about to begin: of a
  // workload's last batch after all that comes before the next training.
  nn::Metrics train_one() {
    RunContext context(graph_->model());
    if (trained_) hooks_of_model_.call(&SessionRunHook::after_run, context, *trained_);
    hooks_.call(&SessionRunHook::before_run, context);
    hooks_of_model_.call(&SessionRunHook::before_run, context);
    trained_ = graph_->train_on_batch(training_->take(), *ranks_);
    ++batches_trained_;
    hooks_.call(&SessionRunHook::after_run, context, *trained_);
    note_stop(context);
    return trained_->summaries;
  }

  nlohmann::ordered_json validate() {
    Input input(dataset_of(context_, eval_spec_.input_fn).iterate());
    if (input.peek() == nullptr) trials::refuse_validation(context_.distributed());
    Graph graph(estimator_.model_fn(), Mode::evaluate, *input.peek(), context_.get_trial_seed());
    graph.take_weights(*graph_);
    ranks_->share_untrained(graph.model());
    HookList all = eval_spec_.hooks;
    all.insert(all.end(), graph.spec().evaluation_hooks.begin(),
               graph.spec().evaluation_hooks.end());
    const Hooks hooks(all);
    hooks.call(&SessionRunHook::begin);
    hooks.call(&SessionRunHook::after_create_session, graph.model());
    double sum = 0;
    int64_t batches = 0;
    constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();
    const int64_t steps = std::min(eval_spec_.steps.value_or(no_limit),
                                   workloads_.batches_of_validation().value_or(no_limit));
    for (; batches != steps; ++batches) {
      RunContext context(graph.model());
      hooks.call(&SessionRunHook::before_run, context);
      const bool is_at_end = input.peek() == nullptr;
      if (!is_at_end) {
        const RunValues values = graph.test_on_batch(input.take());
        sum += values.loss();
        hooks.call(&SessionRunHook::after_run, context, values);
      }
      note_stop(context);
      if (is_at_end) break;
    }
    hooks.call(&SessionRunHook::end, graph.model());
    nlohmann::ordered_json metrics = graph.metrics(context_.distributed());
    metrics["loss"] = sum / static_cast<double>(batches);
    metrics["global_step"] = graph_->model().steps().trained;
    return trials::validated(context_, batches, trials::averaged(context_.distributed(), metrics));
  }

  nlohmann::ordered_json save() {
    return trials::saved(
        context_, batches_trained_, "saved_model", [&](const CheckpointWriter &store) {
          const std::filesystem::path directory = store.path();
          trials::save_model(store, graph_->model(), detail::model_files);
          for (const auto &[name, receive] : serving_) serve(receive, directory / name);
          hooks_.call(&RunHook::on_checkpoint_end, directory);
          trials::write_text(directory / trials::sequencer_file, workloads_.state().dump());
          trials::write_load_data(directory, detail::trial_type, context_);
        });
  }

  void serve(const ServingInputReceiverFn &receive, const std::filesystem::path &directory) const {
    try {
      const Graph graph(estimator_.model_fn(), Mode::predict, receive(), 0);
      graph.take_weights(*graph_);
      detail::export_saved_model(graph, directory);
    } catch (const std::logic_error &refusal) {  // of what the receiver gives
      throw std::invalid_argument("writing the model that serves '" +
                                  directory.filename().string() + "': " + refusal.what());
    }
  }

  void note_stop(const RunContext &context) {
    if (context.stop_requested()) context_.set_stop_requested(true);
  }

  TrialContext &context_;
  const nlohmann::ordered_json config_;
  const Estimator estimator_;
  const TrainSpec train_spec_;
  const EvalSpec eval_spec_;
  const ServingInputReceiverFns serving_;
  const Hooks hooks_;
  trials::WorkloadSource &workloads_;
  std::optional<Input> training_;
  std::optional<Graph> graph_;
  std::optional<trials::Ranks> ranks_;
  Hooks hooks_of_model_;
  std::optional<RunValues> trained_;  // that the model's hooks have not seen
  bool has_session_ = false;
  int64_t batches_trained_ = 0;
};

}  // namespace estimator
}  // namespace v1
}  // namespace det
