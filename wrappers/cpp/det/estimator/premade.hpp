// Estimators that are there already: deep networks and linear models over feature columns (source:
// tf.estimator.DNNClassifier and its like).
#pragma once

#include <det/estimator/heads.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

struct DNNOptions {
  std::vector<int64_t> hidden_units = {};  // of each layer
  std::vector<DenseColumn> feature_columns = {};
  nn::Optimizer optimizer = nn::adagrad();  // through context().wrap_optimizer()
  std::string activation_fn = nn::relu;
  double dropout = 0;  // the part that is left out after each hidden layer
  bool batch_norm = false;
  int64_t n_classes = 2;        // of a classifier
  int64_t label_dimension = 1;  // of a regressor
};

struct LinearOptions {
  std::vector<DenseColumn> feature_columns = {};
  nn::Optimizer optimizer = nn::adagrad();  // through context().wrap_optimizer()
  int64_t n_classes = 2;                    // of a classifier
  int64_t label_dimension = 1;              // of a regressor
};

namespace detail {

[[nodiscard]] inline Scalar fraction_of_zeros(std::function<Tensor(const RunValues &)> of) {
  return [of = std::move(of)](const RunValues &values) {
    const Tensor tensor = of(values);
    const auto *first = static_cast<const float *>(tensor.data);
    const auto zeros = std::count(first, first + tensor.elements(), 0.0F);
    return static_cast<double>(zeros) / static_cast<double>(tensor.elements());
  };
}

[[nodiscard]] inline nn::Value dnn_logits(EstimatorSpec &spec, Features &features, Mode mode,
                                          const DNNOptions &options, int64_t units) {
  const auto summarise = [&](const std::string &layer, const nn::Value &value) {
    if (mode != Mode::train) return;
    spec.predictions.insert_or_assign(layer, value);
    spec.summaries[layer + "/fraction_of_zero_values"] =
        fraction_of_zeros([layer](const RunValues &values) { return values.prediction(layer); });
  };
  spec.optimizer = options.optimizer;
  nn::Value value = features.input_layer(options.feature_columns);
  for (size_t i = 0; i < options.hidden_units.size(); ++i) {
    const std::string layer = "dnn/hiddenlayer_" + std::to_string(i);
    value = nn::dense(options.hidden_units[i], options.activation_fn.c_str()).named(layer)(value);
    if (options.dropout > 0) value = nn::dropout(options.dropout).named(layer + "/dropout")(value);
    if (options.batch_norm)
      value = nn::batch_normalization()
                  .set("momentum", 0.999)
                  .named(layer + "/batch_normalization")(value);
    summarise(layer, value);
  }
  value = nn::dense(units).named("dnn/logits")(value);
  summarise("dnn/logits", value);
  return value;
}

[[nodiscard]] inline nn::Value linear_logits(EstimatorSpec &spec, Features &features,
                                             const LinearOptions &options, int64_t units) {
  const std::string layer = "linear/linear_model";
  spec.optimizer = options.optimizer;
  spec.summaries["linear/fraction_of_zero_weights"] = fraction_of_zeros(
      [layer](const RunValues &values) { return values.weight(layer + "/kernel"); });
  if (units == 1)
    spec.summaries["linear/bias"] = [layer](const RunValues &values) {
      return static_cast<double>(*static_cast<const float *>(values.weight(layer + "/bias").data));
    };
  return nn::dense(units).kernel_initializer("zeros").named(layer)(
      features.input_layer(options.feature_columns));
}

}  // namespace detail

[[nodiscard]] inline Estimator dnn_classifier(const DNNOptions &options) {
  const int64_t units = logits_of_classes(options.n_classes);
  return Estimator([=](Features &features, Mode mode) {
    EstimatorSpec spec;
    const nn::Value logits = detail::dnn_logits(spec, features, mode, options, units);
    add_classification(spec, mode, logits, options.n_classes);
    return spec;
  });
}

[[nodiscard]] inline Estimator dnn_regressor(const DNNOptions &options) {
  return Estimator([=](Features &features, Mode mode) {
    EstimatorSpec spec;
    add_regression(spec,
                   detail::dnn_logits(spec, features, mode, options, options.label_dimension));
    return spec;
  });
}

[[nodiscard]] inline Estimator linear_classifier(const LinearOptions &options) {
  const int64_t units = logits_of_classes(options.n_classes);
  return Estimator([=](Features &features, Mode mode) {
    EstimatorSpec spec;
    const nn::Value logits = detail::linear_logits(spec, features, options, units);
    add_classification(spec, mode, logits, options.n_classes);
    return spec;
  });
}

[[nodiscard]] inline Estimator linear_regressor(const LinearOptions &options) {
  return Estimator([=](Features &features, Mode) {
    EstimatorSpec spec;
    add_regression(spec, detail::linear_logits(spec, features, options, options.label_dimension));
    return spec;
  });
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
