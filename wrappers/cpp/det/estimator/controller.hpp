// Describes a trial to the library, which then trains it.
#pragma once

#include <det/estimator/graph.hpp>
#include <det/estimator/input.hpp>
#include <det/trials/run.hpp>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

inline constexpr const char *model_file = "graph.json";
inline constexpr const char *weights_file = "model.safetensors";
inline constexpr const char *training_state_file = "optimizer.safetensors";

// True for the name of a file that every checkpoint of a trial has.
[[nodiscard]] inline bool is_of_checkpoints(const std::string &name) {
  return name == model_file || name == weights_file || name == training_state_file ||
         name == "workload_sequencer.json" || name == "load_data.json" || name == "metadata.json";
}

}  // namespace detail

// Every rank has one. All are called in step.
class Controller {
 public:
  // The arguments must outlive it.
  Controller(Trial &trial, TrialContext &context, trials::Caught &caught)
      : context_(context),
        caught_(caught),
        estimator_(trial.build_estimator()),
        train_spec_(trial.build_train_spec()),
        eval_spec_(trial.build_validation_spec()),
        serving_(trial.build_serving_input_receiver_fns()),
        hooks_(train_spec_.hooks) {
    for (const auto &[name, function] : serving_) {
      if (!function || name.empty() || name == "." || name == ".." ||
          std::filesystem::path(name).filename() != name)
        throw std::invalid_argument("building a trial: the serving input receiver '" + name +
                                    "' has no function, or no name that a directory can have");
      if (detail::is_of_checkpoints(name))
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

  // Call it while the trial is built.
  void describe(OnFailure on = {}) {
    det_keras_loop loop = DET_KERAS_LOOP_INIT;
    loop.format = "saved_model";
    loop.model_file = detail::model_file;
    loop.weights_file = detail::weights_file;
    loop.training_state_file = detail::training_state_file;
    loop.user_data = this;
    loop.begin = [](det_keras_context *, const char *checkpoint, det_nn_model **out_model,
                    void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] {
        of(self).begin(checkpoint);
        *out_model = of(self).graph_->model().capi();
      });
    };
    loop.train = [](det_keras_context *, det_keras_ranks *ranks, int64_t batches, const char **out,
                    void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] {
        of(self).answer_ = of(self).train(trials::Ranks(ranks), batches);
        *out = of(self).answer_.capi();
      });
    };
    loop.validate = [](det_keras_context *, det_keras_ranks *ranks, int64_t most, const char **out,
                       void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] {
        of(self).answer_ = of(self).validate(trials::Ranks(ranks), most);
        *out = of(self).answer_.capi();
      });
    };
    loop.save = [](det_keras_context *, const char *directory, void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] { of(self).save(directory); });
    };
    loop.end = [](det_keras_context *, int32_t has_failed, void *self, det_error *err) {
      return of(self).caught_.guarded(err, [&] { of(self).end(has_failed != 0); });
    };
    det::detail::call(on, det_keras_set_loop, context_.capi(), &loop);
  }

 private:
  static Controller &of(void *self) { return *static_cast<Controller *>(self); }

  // `checkpoint` is null if the trial does not resume.
  void begin(const char *checkpoint) {
    if (checkpoint != nullptr)
      hooks_.call(&RunHook::on_checkpoint_load, std::filesystem::path(checkpoint));
    training_.emplace(dataset_of(context_, train_spec_.input_fn).repeat().iterate(),
                      context_.get_initial_batch());
    graph_.emplace(estimator_.model_fn(), Mode::train, *training_->peek(),
                   context_.get_trial_seed());
    if (!context_.has_wrapped_optimizer())
      throw std::logic_error(
          "building the model of a trial: give its optimizer to context().wrap_optimizer()");
    hooks_of_model_ = Hooks(graph_->spec().training_hooks);
    if (const auto &other = estimator_.warm_start(); other && checkpoint == nullptr)
      Tensors(*other / detail::weights_file).read(graph_->model().weights());
    hooks_.call(&SessionRunHook::begin);
  }

  nlohmann::ordered_json train(const trials::Ranks &ranks, int64_t batches) {
    if (!std::exchange(has_session_, true)) {
      hooks_of_model_.call(&SessionRunHook::begin);
      hooks_.call(&SessionRunHook::after_create_session, graph_->model());
      hooks_of_model_.call(&SessionRunHook::after_create_session, graph_->model());
    }
    nlohmann::ordered_json each = nlohmann::ordered_json::array();
    nn::Metrics means;
    for (int64_t batch = 0; batch < batches; ++batch) {
      const nn::Metrics summaries = train_one(ranks);
      for (const auto &[name, value] : summaries)
        means[name] += value / static_cast<double>(batches);
      each.push_back(summaries);
    }
    return {{"avg_metrics", means}, {"batch_metrics", each}};
  }

  // As in Determined, hooks of the model get a batch when the next one is about to begin. They get
  // the last batch of a workload when the next training begins.
  nn::Metrics train_one(const trials::Ranks &ranks) {
    RunContext context(graph_->model());
    if (trained_) hooks_of_model_.call(&SessionRunHook::after_run, context, *trained_);
    hooks_.call(&SessionRunHook::before_run, context);
    hooks_of_model_.call(&SessionRunHook::before_run, context);
    trained_ = graph_->train_on_batch(training_->take(), ranks);
    hooks_.call(&SessionRunHook::after_run, context, *trained_);
    note_stop(context);
    return trained_->summaries;
  }

  nlohmann::ordered_json validate(const trials::Ranks &ranks, int64_t most) {
    Input input(dataset_of(context_, eval_spec_.input_fn).iterate());
    if (input.peek() == nullptr)
      return nlohmann::ordered_json::object({{"batches", 0}});  // rejected
    Graph graph(estimator_.model_fn(), Mode::evaluate, *input.peek(), context_.get_trial_seed());
    graph.take_weights(*graph_);
    ranks.share_untrained(graph.model());
    HookList all = eval_spec_.hooks;
    all.insert(all.end(), graph.spec().evaluation_hooks.begin(),
               graph.spec().evaluation_hooks.end());
    const Hooks hooks(all);
    hooks.call(&SessionRunHook::begin);
    hooks.call(&SessionRunHook::after_create_session, graph.model());
    double sum = 0;
    int64_t batches = 0;
    constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();
    const int64_t steps =
        std::min(eval_spec_.steps.value_or(no_limit), most >= 0 ? most : no_limit);
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
    return {{"batches", batches}, {"validation_metrics", metrics}};
  }

  void save(const std::filesystem::path &directory) {
    for (const auto &[name, receive] : serving_) serve(receive, directory / name);
    hooks_.call(&RunHook::on_checkpoint_end, directory);
  }

  void serve(const ServingInputReceiverFn &receive, const std::filesystem::path &directory) const {
    try {
      const Graph graph(estimator_.model_fn(), Mode::predict, receive(), 0);
      graph.take_weights(*graph_);
      detail::export_saved_model(graph, directory);
    } catch (const std::logic_error &refusal) {  // from the receiver
      throw std::invalid_argument("writing the model that serves '" +
                                  directory.filename().string() + "': " + refusal.what());
    }
  }

  void end(bool has_failed) {
    std::exception_ptr failure;
    if (has_failed) failure = std::make_exception_ptr(std::runtime_error("the training failed"));
    failure = hooks_.close(std::move(failure));
    if (!has_failed && failure != nullptr) std::rethrow_exception(std::move(failure));
  }

  void note_stop(const RunContext &context) {
    if (context.stop_requested()) context_.set_stop_requested(true);
  }

  TrialContext &context_;
  trials::Caught &caught_;
  const Estimator estimator_;
  const TrainSpec train_spec_;
  const EvalSpec eval_spec_;
  const ServingInputReceiverFns serving_;
  const Hooks hooks_;
  std::optional<Input> training_;
  std::optional<Graph> graph_;
  Hooks hooks_of_model_;
  std::optional<RunValues> trained_;  // the batch that the model's hooks have not seen
  bool has_session_ = false;
  Json answer_;  // borrowed by the library until its next call
};

}  // namespace estimator
}  // namespace v1
}  // namespace det
