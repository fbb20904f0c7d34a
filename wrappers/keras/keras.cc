#include "wrappers/keras/failures.h"
#include "wrappers/keras/json_options.h"
#include "wrappers/keras/program_callback.h"
#include "wrappers/keras/program_trial.h"

namespace {

CoreJson object_of(const char *json) { return det::parse_json_object(text(json, "json"), "json"); }

det::v1::CoreOptions core_options(const det_keras_run_options &given) {
  det::v1::CoreOptions options;
  options.config = det::v1::Json(given.config_json);
  options.hparams = det::v1::Json(given.hparams_json);
  options.external_id = text_or_empty(given.external_id);
  options.name = text_or_empty(given.name);
  options.master = text_or_empty(given.master);
  options.checkpoint_storage = text_or_empty(given.checkpoint_storage);
  return options;
}

}  // namespace

det_status det_keras_fail(det_error *err, det_status status, const char *message) noexcept {
  const bool is_refusal = status == DET_KERAS_INVALID_HP;
  if (!is_refusal) status = failure_code(status);
  const CoreCode code = is_refusal ? CoreCode::invalid : static_cast<CoreCode>(status);
  const det_status filled = guarded(err, [&] { throw CoreError(code, text_or_empty(message)); });
  return is_refusal && filled != DET_E_NOMEM ? status : filled;
}

det_core *det_keras_core(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.core().capi() : nullptr;
}

int64_t det_keras_global_batch_size(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.get_global_batch_size() : 0;
}

int64_t det_keras_per_slot_batch_size(const det_keras_context *context) noexcept {
  return context != nullptr ? context->trial.get_per_slot_batch_size() : 0;
}

det_status det_keras_set_model(det_keras_context *context, const char *json, const char *compiled,
                               det_nn_model **out_model, det_error *err) noexcept {
  if (out_model != nullptr) *out_model = nullptr;
  return guarded_keras(err, [&] {
    deref(context, "context").set_model(json, compiled);
    if (out_model != nullptr) *out_model = context->model();
  });
}

det_nn_model *det_keras_model(const det_keras_context *context) noexcept {
  return context != nullptr ? context->model() : nullptr;
}

void det_keras_data_init(det_keras_data *data) noexcept {
  if (data != nullptr) *data = DET_KERAS_DATA_INIT;
}

det_status det_keras_set_training_data(det_keras_context *context, const det_keras_data *data,
                                       det_error *err) noexcept {
  return guarded_keras(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.take("giving a trial what it is trained with", said.training, data);
  });
}

det_status det_keras_set_validation_data(det_keras_context *context, const det_keras_data *data,
                                         det_error *err) noexcept {
  return guarded_keras(err, [&] {
    det_keras_context &said = deref(context, "context");
    said.take("giving a trial what it is validated with", said.validation, data);
  });
}

det_status det_keras_configure_fit(det_keras_context *context, const char *json,
                                   det_error *err) noexcept {
  return guarded_keras(err, [&] {
    deref(context, "context").check_building("saying how a trial is trained");
    context->trial.configure_fit(fit_options_of(object_of(json)));
  });
}

void det_keras_callback_init(det_keras_callback *callback) noexcept {
  if (callback != nullptr) *callback = DET_KERAS_CALLBACK_INIT;
}

det_status det_keras_add_callback(det_keras_context *context, const det_keras_callback *callback,
                                  det_error *err) noexcept {
  return guarded_keras(err, [&] {
    deref(context, "context").check_building("adding a callback");
    context->callbacks.push_back(program_callback(callback, *context));
  });
}

det_status det_keras_add_known_callback(det_keras_context *context, const char *json,
                                        det_error *err) noexcept {
  return guarded_keras(err, [&] {
    deref(context, "context").check_building("adding a callback");
    context->callbacks.push_back(known_callback(det::parse_json(text(json, "json"), "json")));
  });
}

void det_keras_stop_training(det_keras_context *context) noexcept {
  if (context != nullptr) context->trial.set_stop_requested(true);
}

void det_keras_run_options_init(det_keras_run_options *options) noexcept {
  if (options != nullptr) *options = DET_KERAS_RUN_OPTIONS_INIT;
}

det_status det_keras_run_trial(det_keras_build build, void *user_data,
                               const det_keras_run_options *options, det_error *err) noexcept {
  return guarded_keras(err, [&] {
    const Program program{&deref(build, "build"), user_data};
    const auto given =
        read_options<det_keras_run_options>(options, DET_KERAS_RUN_OPTIONS_INIT, "options");
    std::vector<const char *> arguments;
    if (given.argument_count > 0) deref(given.arguments, "options.arguments");
    for (size_t i = 0; i < given.argument_count; ++i)
      arguments.push_back(text(given.arguments[i], "an argument of 'options.arguments'"));
    det::v1::trials::Arguments told =
        det::v1::trials::arguments_of(static_cast<int>(arguments.size()), arguments.data());
    told.tests_one_batch = told.tests_one_batch || given.tests_one_batch != 0;
    det::v1::trials::run_as_told<ProgramTrial>(told, core_options(given), nullptr, program);
  });
}

det_status det_keras_load_model(const char *directory, det_nn_model **out,
                                det_error *err) noexcept {
  return guarded_keras(err, [&] {
    give(out, "out", [&] {
      return keras::load_model_from_checkpoint_path(text(directory, "directory")).release();
    });
  });
}
