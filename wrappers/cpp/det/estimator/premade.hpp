// Premade estimators: deep networks and linear models over feature columns. Follows
// tf.estimator.DNNClassifier and similar classes.
#pragma once

#include <det/estimator/heads.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

struct DNNOptions : HeadOptions {
  std::vector<int64_t> hidden_units = {};  // of each layer
  std::vector<DenseColumn> feature_columns = {};
  nn::Optimizer optimizer = nn::adagrad();  // through context().wrap_optimizer()
  std::string activation_fn = nn::relu;
  double dropout = 0;  // the share that is left out after each hidden layer
  bool batch_norm = false;
};

struct LinearOptions : HeadOptions {
  std::vector<DenseColumn> feature_columns = {};
  // Through context().wrap_optimizer().
  nn::Optimizer optimizer = nn::Optimizer("Ftrl").learning_rate(0.2);
};

// A network and a linear model side by side. Their logits are added.
struct DNNLinearCombinedOptions : HeadOptions {
  std::vector<DenseColumn> linear_feature_columns = {};
  std::vector<DenseColumn> dnn_feature_columns = {};
  std::vector<int64_t> dnn_hidden_units = {};  // of each layer
  nn::Optimizer optimizer = nn::adagrad();     // for both; through context().wrap_optimizer()
  std::string dnn_activation_fn = nn::relu;
  double dnn_dropout = 0;  // the share that is left out after each hidden layer
  bool batch_norm = false;
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

namespace detail {

[[nodiscard]] inline nn::Value logits_of(EstimatorSpec &spec, Features &features, Mode mode,
                                         const DNNOptions &options, int64_t units) {
  return dnn_logits(spec, features, mode, options, units);
}
[[nodiscard]] inline nn::Value logits_of(EstimatorSpec &spec, Features &features, Mode,
                                         const LinearOptions &options, int64_t units) {
  return linear_logits(spec, features, options, units);
}
[[nodiscard]] inline nn::Value logits_of(EstimatorSpec &spec, Features &features, Mode mode,
                                         const DNNLinearCombinedOptions &options, int64_t units) {
  LinearOptions linear;
  linear.feature_columns = options.linear_feature_columns;
  DNNOptions dnn;
  dnn.feature_columns = options.dnn_feature_columns;
  dnn.hidden_units = options.dnn_hidden_units;
  dnn.activation_fn = options.dnn_activation_fn;
  dnn.dropout = options.dnn_dropout;
  dnn.batch_norm = options.batch_norm;
  const nn::Value of_linear = linear_logits(spec, features, linear, units);
  const nn::Value of_dnn = dnn_logits(spec, features, mode, dnn, units);
  spec.optimizer = options.optimizer;
  return nn::add().named("logits")({of_dnn, of_linear});
}

template <class Options>
[[nodiscard]] Estimator classifier(const Options &options) {
  const int64_t units = logits_of_classes(options);
  return Estimator([=](Features &features, Mode mode) {
    EstimatorSpec spec;
    add_classification(spec, mode, logits_of(spec, features, mode, options, units), options);
    return spec;
  });
}
template <class Options>
[[nodiscard]] Estimator regressor(const Options &options) {
  if (options.label_dimension < 1)
    throw std::invalid_argument("making a regressor: its label_dimension is 1 or more, not " +
                                std::to_string(options.label_dimension));
  return Estimator([=](Features &features, Mode mode) {
    EstimatorSpec spec;
    add_regression(spec, logits_of(spec, features, mode, options, options.label_dimension),
                   options);
    return spec;
  });
}

}  // namespace detail

[[nodiscard]] inline Estimator dnn_classifier(const DNNOptions &options) {
  return detail::classifier(options);
}
[[nodiscard]] inline Estimator dnn_regressor(const DNNOptions &options) {
  return detail::regressor(options);
}
[[nodiscard]] inline Estimator linear_classifier(const LinearOptions &options) {
  return detail::classifier(options);
}
[[nodiscard]] inline Estimator linear_regressor(const LinearOptions &options) {
  return detail::regressor(options);
}
[[nodiscard]] inline Estimator dnn_linear_combined_classifier(
    const DNNLinearCombinedOptions &options) {
  return detail::classifier(options);
}
[[nodiscard]] inline Estimator dnn_linear_combined_regressor(
    const DNNLinearCombinedOptions &options) {
  return detail::regressor(options);
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
