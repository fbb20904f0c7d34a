#include <det/nn.h>

#include <limits>
#include <utility>

#include "capi/guard.h"
#include "core/base/json.h"
#include "wrappers/nn/capi/batch_argument.h"
#include "wrappers/nn/capi/model_handle.h"
#include "wrappers/nn/files/keras_file.h"
#include "wrappers/nn/files/model_files.h"
#include "wrappers/nn/files/onnx_writer.h"

namespace {

using det::nn::Array;

// The batch of the caller in `model`.
const det::nn::Batch &borrowed_batch(det_nn_model &model, const det_nn_batch *given) {
  const det_nn_batch batch = read_batch(given);
  borrow_batch(batch, model.batch);
  model.batch.class_weights = {batch.class_weights, batch.class_count};
  return model.batch;
}

void give_lent(std::span<const det_tensor> tensors, const det_tensor **out, size_t *out_count) {
  *out = tensors.data();
  *out_count = tensors.size();
}

void lend_results(det_nn_model &model, const det_tensor **out, size_t *out_count) {
  const std::vector<Array> results = model.impl.results();
  const std::vector<std::string> names = model.impl.graph().result_names();
  model.results = {};
  for (size_t i = 0; i < results.size(); ++i) model.results.add(names[i], results[i]);
  give_lent(model.results.give(), out, out_count);
}

std::filesystem::path path_from(const char *path) {
  const std::string given = text(path, "path");
  if (!given.empty()) return given;
  throw det::Error(det::Code::invalid, "'path' is empty; give the name of a file");
}

}  // namespace

void det_nn_model::Lent::add(std::string name, const Array &array) {
  names_.push_back(std::move(name));
  shapes_.push_back(array.shape());
  det_tensor tensor = DET_TENSOR_INIT;
  tensor.data = array.raw();
  tensor.dtype = static_cast<det_dtype>(array.dtype());
  tensor.device = DET_DEVICE_HOST;
  tensor.dimensions = array.shape().size();
  tensors_.push_back(tensor);
}

std::span<const det_tensor> det_nn_model::Lent::give() {
  // The texts and shapes stay where they are from now on.
  for (size_t i = 0; i < tensors_.size(); ++i) {
    tensors_[i].name = names_[i].c_str();
    tensors_[i].shape = shapes_[i].data();
  }
  return tensors_;
}

void det_nn_model::compile(const det::Json &options) {
  impl.compile(options);
  has_optimizer = options.contains("optimizer");
  state = {};
  renew_metric_names();
}

void det_nn_model::train_on_batch(const det::nn::Batch &given) {
  impl.train_on_batch(given);
  renew_metric_names();
}

void det_nn_model::test_on_batch(const det::nn::Batch &given) {
  impl.test_on_batch(given);
  renew_metric_names();
}

std::span<const det_tensor> det_nn_model::lend_weights() {
  impl.check_built();
  if (weights.empty())
    for (const det::nn::Weight &weight : impl.weights().all())
      weights.add(weight.name, weight.value);
  return weights.give();
}

std::span<const det_tensor> det_nn_model::lend_optimizer_state() {
  impl.check_built();
  if (state.empty())
    std::as_const(impl).training().optimizer().for_each_state(
        impl.weights(),
        [&](const std::string &name, const Array &array) { state.add(name, array); });
  return state.give();
}

void det_nn_model::renew_metric_names() {
  if (metric_names.size() != impl.training().metric_count())
    metric_names = impl.training().metric_names();
}

det_status det_nn_model_create(const char *json, const det_nn_model_options *options,
                               det_nn_model **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto read =
          read_options<det_nn_model_options>(options, DET_NN_MODEL_OPTIONS_INIT, "options");
      const det::Json described = det::parse_json_object(text(json, "json"), "json");
      return new det_nn_model(described, {read.seed, text_or_empty(read.backend)});
    });
  });
}

det_status det_nn_model_load(const char *path, const det_nn_model_options *options,
                             det_nn_model **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const auto read =
          read_options<det_nn_model_options>(options, DET_NN_MODEL_OPTIONS_INIT, "options");
      const std::filesystem::path file = path_from(path);
      auto loaded = std::make_unique<det_nn_model>(
          det::nn::read_keras_model(file),
          det::nn::ModelOptions{read.seed, text_or_empty(read.backend)});
      det::nn::read_keras_weights(loaded->impl, file);
      return loaded.release();
    });
  });
}

det_status det_nn_model_to_json(const det_nn_model *model, char **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return copy_text(det::to_wire(det::nn::write_model(deref(model, "model").impl.graph())));
    });
  });
}

det_status det_nn_model_summary(const det_nn_model *model, char **out, det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] { return copy_text(deref(model, "model").impl.summary()); });
  });
}

det_status det_nn_model_compile(det_nn_model *model, const char *json, det_error *err) noexcept {
  return guarded(err, [&] {
    deref(model, "model").compile(det::parse_json_object(text(json, "json"), "json"));
  });
}

det_status det_nn_model_train_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                       det_error *err) noexcept {
  return guarded(err, [&] { deref(model, "model").train_on_batch(borrowed_batch(*model, batch)); });
}

det_status det_nn_model_test_on_batch(det_nn_model *model, const det_nn_batch *batch,
                                      det_error *err) noexcept {
  return guarded(err, [&] { deref(model, "model").test_on_batch(borrowed_batch(*model, batch)); });
}

det_status det_nn_model_predict_on_batch(det_nn_model *model, const det_tensor *inputs,
                                         size_t count, const det_tensor **out_results,
                                         size_t *out_count, det_error *err) noexcept {
  return guarded(err, [&] {
    cleared(out_results, "out_results");
    deref(out_count, "out_count") = 0;
    det_nn_model &asked = deref(model, "model");
    borrow_arrays(inputs, count, "inputs", asked.batch.inputs);
    asked.impl.predict_on_batch(asked.batch.inputs);
    lend_results(asked, out_results, out_count);
  });
}

det_status det_nn_model_results(det_nn_model *model, const det_tensor **out_results,
                                size_t *out_count, det_error *err) noexcept {
  return guarded(err, [&] {
    cleared(out_results, "out_results");
    deref(out_count, "out_count") = 0;
    lend_results(deref(model, "model"), out_results, out_count);
  });
}

size_t det_nn_model_metric_count(const det_nn_model *model) noexcept {
  return model != nullptr ? model->metric_names.size() : 0;
}

const char *det_nn_model_metric_name(const det_nn_model *model, size_t index) noexcept {
  return index < det_nn_model_metric_count(model) ? model->metric_names[index].c_str() : nullptr;
}

double det_nn_model_metric(const det_nn_model *model, size_t index) noexcept {
  return index < det_nn_model_metric_count(model) ? model->impl.training().metric(index)
                                                  : std::numeric_limits<double>::quiet_NaN();
}

void det_nn_model_reset_metrics(det_nn_model *model) noexcept {
  if (model != nullptr && model->impl.is_compiled()) model->impl.training().reset_metrics();
}

det_status det_nn_model_weights(det_nn_model *model, const det_tensor **out_weights,
                                size_t *out_count, det_error *err) noexcept {
  return guarded(err, [&] {
    cleared(out_weights, "out_weights");
    deref(out_count, "out_count") = 0;
    give_lent(deref(model, "model").lend_weights(), out_weights, out_count);
  });
}

int32_t det_nn_model_is_trained(const det_nn_model *model, size_t index) noexcept {
  if (model == nullptr || index >= model->impl.weights().all().size()) return 0;
  return model->impl.weights().at(index).gradient ? 1 : 0;
}

det_status det_nn_model_optimizer_state(det_nn_model *model, const det_tensor **out_state,
                                        size_t *out_count, det_error *err) noexcept {
  return guarded(err, [&] {
    cleared(out_state, "out_state");
    deref(out_count, "out_count") = 0;
    give_lent(deref(model, "model").lend_optimizer_state(), out_state, out_count);
  });
}

void det_nn_model_steps(const det_nn_model *model, int64_t *out_steps,
                        int64_t *out_iterations) noexcept {
  const bool is_compiled = model != nullptr && model->impl.is_compiled();
  if (out_steps != nullptr) *out_steps = model != nullptr ? model->impl.steps() : 0;
  if (out_iterations != nullptr)
    *out_iterations = is_compiled ? model->impl.training().optimizer().iterations() : 0;
}

det_status det_nn_model_set_steps(det_nn_model *model, int64_t steps, int64_t iterations,
                                  det_error *err) noexcept {
  return guarded(err, [&] {
    for (const int64_t count : {steps, iterations})
      if (count < 0 || count > det::nn::Model::most_steps)
        throw det::Error(det::Code::invalid,
                         "setting the steps of a model: " + std::to_string(count) +
                             " is no count from 0 to 2^62");
    deref(model, "model").impl.training().optimizer().set_iterations(iterations);
    model->impl.set_steps(steps);
  });
}

double det_nn_model_learning_rate(const det_nn_model *model) noexcept {
  return model != nullptr && model->impl.is_compiled()
             ? model->impl.training().optimizer().learning_rate()
             : std::numeric_limits<double>::quiet_NaN();
}

det_status det_nn_model_set_learning_rate(det_nn_model *model, double learning_rate,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    deref(model, "model").impl.training().optimizer().set_learning_rate(learning_rate);
  });
}

det_status det_nn_model_observe_gradients(det_nn_model *model, det_nn_gradient_callback on_gradient,
                                          det_nn_step_callback on_step, void *user_data,
                                          det_error *err) noexcept {
  return guarded(err, [&] {
    det::nn::GradientObserver observer;
    const det::nn::Weights &weights = deref(model, "model").impl.weights();
    const auto checked = [](int32_t answer) {
      if (answer < 0)
        throw det::Error(det::Code::callback,
                         "training a model: the callback answered " + std::to_string(answer));
      return answer;
    };
    if (on_gradient != nullptr)
      observer.on_gradient = [=, &weights](size_t index) {
        const Array &gradient = weights.at(index).gradient;
        checked(on_gradient(index, gradient.data(), gradient.size(), user_data));
      };
    if (on_step != nullptr) observer.on_step = [=] { return checked(on_step(user_data)) != 0; };
    model->impl.observe_gradients(std::move(observer));
  });
}

det_status det_nn_model_place_gradients(det_nn_model *model, void *memory, size_t bytes,
                                        det_error *err) noexcept {
  return guarded(err, [&] {
    if (memory == nullptr) bytes = 0;
    deref(model, "model").impl.place_gradients({static_cast<std::byte *>(memory), bytes});
  });
}

det_status det_nn_model_save_weights(const det_nn_model *model, const char *path,
                                     det_error *err) noexcept {
  return guarded(err, [&] { det::nn::save_weights(deref(model, "model").impl, path_from(path)); });
}

det_status det_nn_model_load_weights(det_nn_model *model, const char *path,
                                     det_error *err) noexcept {
  return guarded(err, [&] { det::nn::load_weights(deref(model, "model").impl, path_from(path)); });
}

det_status det_nn_model_save_training_state(const det_nn_model *model, const char *path,
                                            det_error *err) noexcept {
  return guarded(
      err, [&] { det::nn::save_training_state(deref(model, "model").impl, path_from(path)); });
}

det_status det_nn_model_load_training_state(det_nn_model *model, const char *path,
                                            det_error *err) noexcept {
  return guarded(
      err, [&] { det::nn::load_training_state(deref(model, "model").impl, path_from(path)); });
}

det_status det_nn_model_write_onnx(det_nn_model *model, const char *path, det_error *err) noexcept {
  return guarded(err, [&] { det::nn::write_onnx(deref(model, "model").impl, path_from(path)); });
}

void det_nn_model_free(det_nn_model *model) noexcept { delete model; }
