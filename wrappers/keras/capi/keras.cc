#include <det/keras.h>

#include <algorithm>

#include "capi/guard.h"
#include "wrappers/keras/callbacks/known_callbacks.h"
#include "wrappers/keras/capi/trial_program.h"
#include "wrappers/keras/checkpoints/trial_files.h"
#include "wrappers/keras/run/trial_run.h"
#include "wrappers/keras/training/keras_loop.h"
#include "wrappers/nn/capi/batch_argument.h"

using det::Code;
using det::Error;
using det::Json;
using det::keras::Trial;
using det::keras::TrialRun;

namespace {

std::string kind_of(const char *kind) { return kind != nullptr ? kind : "det::keras::Trial"; }

Json object_of(const char *json, const char *name) {
  return det::parse_json_object(text(json, name), name);
}

void check_optimizer(bool is_there) {
  if (!is_there)
    throw Error(Code::invalid,
                "compiling the model of a trial: nothing says its 'optimizer', such as \"adam\"");
}

// What is said while a trial is built and trained is forgotten afterwards, but how it is fitted.
class Building {
 public:
  explicit Building(det_keras_context &context) : context_(context) {}
  ~Building() {
    context_.said = {};
    context_.own_model.reset();
    context_.loop.reset();
    context_.is_built = false;
  }
  Building(const Building &) = delete;
  Building &operator=(const Building &) = delete;

 private:
  det_keras_context &context_;
};

void train(det_keras_context &context, det_keras_build build, void *user_data,
           const det_keras_workloads *workloads) try {
  const Building building(context);
  const auto make_loop = [&] { return det::keras::build_trial(context, build, user_data); };
  if (workloads == nullptr && !context.trial.is_unkept())
    return train_to_end(context.trial, make_loop);
  std::unique_ptr<det::keras::WorkloadSource> source;
  if (workloads != nullptr) source = det::keras::program_workloads(workloads);
  else source = std::make_unique<det::keras::OneBatch>();
  const std::unique_ptr<det::keras::Loop> loop = make_loop();
  do_workloads(context.trial, *loop, *source);
} catch (const Json::exception &refusal) {  // of what a program or a checkpoint says
  throw Error(Code::invalid, refusal.what());
}

void run_trial(det_keras_build build, void *user_data, const det_keras_run_options &given,
               const det::keras::Arguments &told) {
  std::string config;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.config_json = given.config_json;
  options.hparams_json = given.hparams_json;
  if (told.config) {
    config = det::keras::text_with_bare_numbers(*told.config);
    options.config_json = config.c_str();
    options.hparams_json = nullptr;  // those of the configuration
  }
  const bool has_id = !told.external_id.empty();
  options.external_id = has_id ? told.external_id.c_str() : given.external_id;
  options.name = given.name;
  options.master = given.master;
  options.checkpoint_storage = given.checkpoint_storage;
  if (told.tests_one_batch || given.tests_one_batch != 0) {
    det_keras_context context(
        Trial(TrialRun::unkept(options.config_json, options.hparams_json), kind_of(nullptr)));
    train(context, build, user_data, nullptr);
    det::keras::call(det_core_close, context.trial.core(), DET_OUTCOME_OK);
    return;
  }
  const TrialRun run = TrialRun::start(options);
  det_keras_context context(Trial(run.core(), kind_of(nullptr)));
  train(context, build, user_data, nullptr);
}

det::keras::Arguments arguments_from(const char *const *arguments, size_t count, const char *name) {
  std::vector<const char *> read;
  if (count > 0) deref(arguments, name);
  for (size_t i = 0; i < count; ++i)
    read.push_back(text(arguments[i], ("an argument of '" + std::string(name) + "'").c_str()));
  return det::keras::read_arguments(read);
}

}  // namespace

det_status det_keras_fail(det_error *err, det_status status, const char *message) noexcept {
  const bool is_refusal = status == DET_KERAS_INVALID_HP;
  const Code code = is_refusal ? Code::invalid : det::keras::code_of_program(status);
  const det_status filled = guarded(err, [&] { throw Error(code, text_or_empty(message)); });
  if (filled == DET_E_NOMEM) return filled;
  return is_refusal ? status : static_cast<det_status>(code);
}

det_status det_keras_context_create(det_core *core, const char *kind, det_keras_context **out,
                                    det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return new det_keras_context(Trial(&deref(core, "core"), kind_of(kind))); });
  });
}

det_status det_keras_context_from_config(const char *config_json, const char *hparams_json,
                                         const char *kind, det_keras_context **out,
                                         det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return new det_keras_context(
          Trial(TrialRun::unkept(config_json, hparams_json), kind_of(kind)));
    });
  });
}

void det_keras_context_free(det_keras_context *context) noexcept { delete context; }

det_core *det_keras_core(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.core() : nullptr;
}

int64_t det_keras_global_batch_size(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.sizes().global : 0;
}

int64_t det_keras_per_slot_batch_size(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.sizes().per_slot : 0;
}

det_status det_keras_set_model(det_keras_context *context, const char *json, const char *compiled,
                               det_nn_model **out_model, det_error *err) noexcept {
  if (out_model != nullptr) *out_model = nullptr;
  return guarded(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.check_model();
    const Json described = object_of(json, "json");
    const Json options = object_of(compiled, "compiled");
    check_optimizer(options.contains("optimizer"));
    const auto seed = static_cast<uint64_t>(det_info_trial_seed(said.trial.info()));
    auto made = std::make_unique<det_nn_model>(described, det::nn::ModelOptions{seed, ""});
    made->compile(options);
    said.own_model = std::move(made);
    said.said.model = said.own_model.get();
    if (out_model != nullptr) *out_model = said.said.model;
  });
}

det_status det_keras_use_model(det_keras_context *context, det_nn_model *model,
                               det_error *err) noexcept {
  return guarded(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.check_model();
    check_optimizer(deref(model, "model").has_optimizer);
    said.said.model = model;
  });
}

det_nn_model *det_keras_model(const det_keras_context *context) noexcept {
  return context != nullptr ? context->said.model : nullptr;
}

det_status det_keras_set_training_data(det_keras_context *context, const det_keras_data *data,
                                       det_error *err) noexcept {
  return guarded(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.take("giving a trial what it is trained with", said.said.training, data);
  });
}

det_status det_keras_set_validation_data(det_keras_context *context, const det_keras_data *data,
                                         det_error *err) noexcept {
  return guarded(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.take("giving a trial what it is validated with", said.said.validation, data);
  });
}

det_status det_keras_configure_fit(det_keras_context *context, const char *json,
                                   det_error *err) noexcept {
  return guarded(err, [&] {
    deref(context, "context").check_building("saying how a trial is trained");
    context->fit.configure(object_of(json, "json"));
  });
}

det_status det_keras_add_callback(det_keras_context *context, const det_keras_callback *callback,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    deref(context, "context").check_building("adding a callback");
    context->said.callbacks.push_back(det::keras::program_callback(callback, *context));
  });
}

det_status det_keras_add_known_callback(det_keras_context *context, const char *json,
                                        det_error *err) noexcept {
  return guarded(err, [&] {
    deref(context, "context").check_building("adding a callback");
    context->said.callbacks.push_back(
        det::keras::known_callback(det::parse_json(text(json, "json"), "json")));
  });
}

void det_keras_set_stop_requested(det_keras_context *context, int32_t stop) noexcept {
  if (context != nullptr) context->trial.stop_requested = stop != 0;
}

int32_t det_keras_stop_requested(const det_keras_context *context) noexcept {
  return context != nullptr && context->trial.stop_requested ? 1 : 0;
}

det_status det_keras_ranks_create(det_distributed_context *job, det_nn_model *model,
                                  const char *optimizations_json, det_keras_ranks **out,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const Json optimizations = optimizations_json != nullptr
                                     ? object_of(optimizations_json, "optimizations_json")
                                     : Json::object();
      return new det_keras_ranks(job, deref(model, "model"), optimizations);
    });
  });
}

det_status det_keras_ranks_train_on_batch(det_keras_ranks *ranks, const det_nn_batch *batch,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    const det_nn_batch given = read_batch(batch);
    det::nn::Batch &read = deref(ranks, "ranks").batch;
    borrow_batch(given, read);
    read.class_weights = {given.class_weights, given.class_count};
    ranks->impl.train_on_batch(read);
  });
}

det_status det_keras_ranks_share_untrained(det_keras_ranks *ranks, det_nn_model *model,
                                           det_error *err) noexcept {
  return guarded(err, [&] { deref(ranks, "ranks").impl.share_untrained(deref(model, "model")); });
}

void det_keras_ranks_free(det_keras_ranks *ranks) noexcept { delete ranks; }

det_status det_keras_set_loop(det_keras_context *context, const det_keras_loop *loop,
                              det_error *err) noexcept {
  return guarded(err, [&] {
    deref(context, "context").check_building("saying how a trial trains");
    context->loop = det::keras::program_loop(loop, *context);
  });
}

det_status det_keras_train(det_keras_context *context, det_keras_build build, void *user_data,
                           const det_keras_workloads *workloads, det_error *err) noexcept {
  return guarded(
      err, [&] { train(deref(context, "context"), &deref(build, "build"), user_data, workloads); });
}

det_status det_keras_read_arguments(const char *const *arguments, size_t count, char **out,
                                    det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const det::keras::Arguments told = arguments_from(arguments, count, "arguments");
      Json said = {{"tests_one_batch", told.tests_one_batch}};
      if (told.config) said["config"] = *told.config;
      if (!told.external_id.empty()) said["external_id"] = told.external_id;
      return copy_text(det::keras::text_with_bare_numbers(said));
    });
  });
}

det_status det_keras_run_trial(det_keras_build build, void *user_data,
                               const det_keras_run_options *options, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(build, "build");
    const auto given =
        read_options<det_keras_run_options>(options, DET_KERAS_RUN_OPTIONS_INIT, "options");
    run_trial(build, user_data, given,
              arguments_from(given.arguments, given.argument_count, "options.arguments"));
  });
}

det_status det_keras_load_model(const char *directory, det_nn_model **out,
                                det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out",
         [&] { return det::keras::load_trained_model(text(directory, "directory")).release(); });
  });
}
