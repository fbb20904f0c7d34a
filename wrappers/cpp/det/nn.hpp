// Models that train and predict, with the layers of Keras. In the library detnn. See det/nn.h.
#pragma once

#include <det/nn.h>
#include <det/detail/handle.hpp>
#include <det/error.hpp>
#include <det/nn/batch.hpp>
#include <det/nn/description.hpp>
#include <det/nn/normalization.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace det {
inline namespace v1 {
namespace nn {

// An optimizer, by its class and its fields in Keras: Optimizer("Adam").set("beta_1", 0.8).
class Optimizer {
 public:
  explicit Optimizer(std::string class_name) : described_(std::move(class_name)) {}

  Optimizer &set(const std::string &key, const ConfigValue &value) {
    described_.set_field(key, value);
    return *this;
  }
  Optimizer &learning_rate(double rate) { return set("learning_rate", rate); }
  [[nodiscard]] std::string json() const { return described_.json(); }

 private:
  Described described_;
};

[[nodiscard]] inline Optimizer sgd(double learning_rate = 0.01, double momentum = 0) {
  return Optimizer("SGD").learning_rate(learning_rate).set("momentum", momentum);
}
[[nodiscard]] inline Optimizer adam(double learning_rate = 0.001) {
  return Optimizer("Adam").learning_rate(learning_rate);
}
[[nodiscard]] inline Optimizer adagrad(double learning_rate = 0.001) {
  return Optimizer("Adagrad").learning_rate(learning_rate);
}
[[nodiscard]] inline Optimizer rmsprop(double learning_rate = 0.001) {
  return Optimizer("RMSprop").learning_rate(learning_rate);
}

using Metrics = std::map<std::string, double>;

struct ModelOptions {
  uint64_t seed = 0;
  std::string backend = {};  // as in det_nn_model_options
};

// A model. See det/nn.h. Use it on one thread at a time.
class Model {
 public:
  Model() noexcept = default;
  explicit Model(det_nn_model *owned) noexcept : model_(owned) {}

  [[nodiscard]] static Model create(const Json &described, const ModelOptions &options = {},
                                    OnFailure on = {}) {
    return made(on, det_nn_model_create, described.capi(), options);
  }

  // Loads a .keras or .h5 file with its weights.
  [[nodiscard]] static Model load(const std::string &path, const ModelOptions &options = {},
                                  OnFailure on = {}) {
    return made(on, det_nn_model_load, path.c_str(), options);
  }

  [[nodiscard]] Json to_json(OnFailure on = {}) const {
    return det::detail::answer(on, det_nn_model_to_json, model_.get());
  }

  // A table of the layers, for people.
  [[nodiscard]] std::string summary(OnFailure on = {}) const {
    char *text = nullptr;
    det::detail::call(on, det_nn_model_summary, model_.get(), &text);
    return det::detail::taken(text);
  }

  void compile(const Json &options, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_compile, model_.get(), options.capi());
  }

  void train_on_batch(const Batch &batch, OnFailure on = {}) const {
    const detail::LentBatch given(batch);
    det::detail::call(on, det_nn_model_train_on_batch, model_.get(), &given.capi());
  }
  void test_on_batch(const Batch &batch, OnFailure on = {}) const {
    const detail::LentBatch given(batch);
    det::detail::call(on, det_nn_model_test_on_batch, model_.get(), &given.capi());
  }
  // The results are in the model until the next call with it.
  [[nodiscard]] std::vector<Tensor> predict_on_batch(const std::vector<Array> &inputs,
                                                     OnFailure on = {}) const {
    const detail::LentTensors given(inputs);
    return lent([&](const det_tensor **out, size_t *count) {
      det::detail::call(on, det_nn_model_predict_on_batch, model_.get(), given.data(), given.size(),
                        out, count);
    });
  }

  // The results of the last batch that was trained, tested or predicted. They are in the model, as
  // above.
  [[nodiscard]] std::vector<Tensor> results(OnFailure on = {}) const {
    return lent([&](const det_tensor **out, size_t *count) {
      det::detail::call(on, det_nn_model_results, model_.get(), out, count);
    });
  }

  // Over all batches since reset_metrics().
  [[nodiscard]] Metrics metrics() const {
    Metrics metrics;
    for (size_t i = 0; i < det_nn_model_metric_count(model_.get()); ++i)
      metrics.emplace(det_nn_model_metric_name(model_.get(), i),
                      det_nn_model_metric(model_.get(), i));
    return metrics;
  }
  void reset_metrics() const noexcept { det_nn_model_reset_metrics(model_.get()); }

  // You may read and write them. They are in the model.
  [[nodiscard]] std::vector<Tensor> weights(OnFailure on = {}) const {
    return lent([&](const det_tensor **out, size_t *count) {
      det::detail::call(on, det_nn_model_weights, model_.get(), out, count);
    });
  }
  // True for a weight that training changes. Others, such as the means of a batch normalization,
  // have no gradient.
  [[nodiscard]] bool is_trained(size_t index) const noexcept {
    return det_nn_model_is_trained(model_.get(), index) != 0;
  }
  [[nodiscard]] std::vector<Tensor> optimizer_state(OnFailure on = {}) const {
    return lent([&](const det_tensor **out, size_t *count) {
      det::detail::call(on, det_nn_model_optimizer_state, model_.get(), out, count);
    });
  }

  struct Steps {
    int64_t trained = 0;
    int64_t iterations = 0;
  };
  [[nodiscard]] Steps steps() const noexcept {
    Steps steps;
    det_nn_model_steps(model_.get(), &steps.trained, &steps.iterations);
    return steps;
  }
  void set_steps(const Steps &steps, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_set_steps, model_.get(), steps.trained, steps.iterations);
  }
  // Files: weights and the state of training as safetensors, and ONNX for serving.
  void save_weights(const std::string &path, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_save_weights, model_.get(), path.c_str());
  }
  void load_weights(const std::string &path, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_load_weights, model_.get(), path.c_str());
  }
  void save_training_state(const std::string &path, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_save_training_state, model_.get(), path.c_str());
  }
  void load_training_state(const std::string &path, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_load_training_state, model_.get(), path.c_str());
  }
  void write_onnx(const std::string &path, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_write_onnx, model_.get(), path.c_str());
  }
  [[nodiscard]] double learning_rate() const noexcept {
    return det_nn_model_learning_rate(model_.get());
  }
  void set_learning_rate(double rate, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_set_learning_rate, model_.get(), rate);
  }
  // See det/nn.h. `user_data` must outlive the model, or the next call.
  void observe_gradients(det_nn_gradient_callback on_gradient, det_nn_step_callback on_step,
                         void *user_data, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_observe_gradients, model_.get(), on_gradient, on_step,
                      user_data);
  }
  // See det/nn.h.
  void place_gradients(void *memory, size_t bytes, OnFailure on = {}) const {
    det::detail::call(on, det_nn_model_place_gradients, model_.get(), memory, bytes);
  }

  [[nodiscard]] det_nn_model *capi() const noexcept { return model_.get(); }
  // The caller owns it from now on.
  [[nodiscard]] det_nn_model *release() noexcept { return model_.release(); }

 private:
  template <class Make>
  static Model made(OnFailure on, Make make, const char *of, const ModelOptions &options) {
    det_nn_model_options given = DET_NN_MODEL_OPTIONS_INIT;
    given.seed = options.seed;
    given.backend = options.backend.c_str();
    det_nn_model *model = nullptr;
    det::detail::call(on, make, of, &given, &model);
    return Model(model);
  }

  template <class Ask>
  static std::vector<Tensor> lent(const Ask &ask) {
    const det_tensor *first = nullptr;
    size_t count = 0;
    ask(&first, &count);
    std::vector<Tensor> tensors;
    for (const det_tensor *one = first; one != first + count; ++one)
      tensors.push_back({one->name, static_cast<Dtype>(one->dtype),
                         Shape(one->shape, one->shape + one->dimensions), one->data});
    return tensors;
  }

  det::detail::Handle<det_nn_model, det_nn_model_free> model_;
};

}  // namespace nn
}  // namespace v1
}  // namespace det
