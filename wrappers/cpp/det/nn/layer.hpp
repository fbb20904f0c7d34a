// Layers, and their calls on one another.
#pragma once

#include <det/nn/config.hpp>

#include <memory>
#include <stdexcept>

namespace det {
inline namespace v1 {
namespace nn {

class Layer;

// An input, or the result of a layer: a place in a functional model, without numbers.
class Value {
 public:
  struct Node {
    std::shared_ptr<Described> layer;  // the same one for each call of a layer
    std::vector<Value> inputs;
    std::vector<std::pair<std::string, Value>> named;
    std::vector<std::pair<std::string, std::string>> options;
  };

  explicit Value(std::shared_ptr<const Node> node, size_t output = 0)
      : node_(std::move(node)), output_(output) {}

  // The n-th result of a layer with several results.
  [[nodiscard]] Value output(size_t n) const { return Value(node_, n); }
  [[nodiscard]] const std::shared_ptr<const Node> &node() const noexcept { return node_; }
  [[nodiscard]] size_t output_index() const noexcept { return output_; }

 private:
  std::shared_ptr<const Node> node_;
  size_t output_;
};

// A layer by the name of its class, with its fields in Keras. A copy is the same layer: called
// twice, it has its weights once.
class Layer {
 public:
  explicit Layer(std::string class_name)
      : described_(std::make_shared<Described>(std::move(class_name))) {}

  Layer &set(const std::string &key, const ConfigValue &value) {
    described_->set_field(key, value);
    return *this;
  }
  Layer &named(const std::string &name) { return set("name", name); }
  Layer &use_bias(bool use) { return set("use_bias", use); }
  Layer &activation(const char *name) { return set("activation", name); }
  Layer &kernel_initializer(const ConfigValue &name) { return set("kernel_initializer", name); }
  // "l1", "l2" or "l1_l2", for the results of the layer.
  Layer &activity_regularizer(const ConfigValue &name) { return set("activity_regularizer", name); }
  // The share to leave out in training. In recurrent layers it applies to inputs and states, in
  // attention to scores.
  Layer &dropout(double rate) { return set("dropout", rate); }
  Layer &recurrent_dropout(double rate) { return set("recurrent_dropout", rate); }
  Layer &padding(const char *name) { return set("padding", name); }
  Layer &strides(const ConfigValue &strides) { return set("strides", strides); }

  // Calls the layer, in a functional model.
  Value operator()(const Value &input) const { return (*this)(std::vector<Value>{input}); }
  Value operator()(std::vector<Value> inputs, std::vector<std::pair<std::string, Value>> named = {},
                   const std::vector<std::pair<std::string, ConfigValue>> &options = {}) const {
    auto node = std::make_shared<Value::Node>();
    node->layer = described_;
    node->inputs = std::move(inputs);
    node->named = std::move(named);
    for (const auto &[key, value] : options) node->options.emplace_back(key, value.text());
    return Value(node);
  }

  [[nodiscard]] const Described &described() const noexcept { return *described_; }

 private:
  std::shared_ptr<Described> described_;
};

// An input without the batch: {28, 28, 1}. -1 is an unknown size. Throws std::invalid_argument for
// an impossible size.
[[nodiscard]] inline Value input(const Shape &shape, const char *name = nullptr,
                                 const char *dtype = "float32") {
  std::string sizes = "[null";
  for (const int64_t size : shape) {
    if (size < -1 || size == 0)
      throw std::invalid_argument("describing an input: its shape has a size of " +
                                  std::to_string(size) +
                                  "; sizes are 1 and more, or -1 where they are not known");
    sizes += size < 0 ? ", null" : ", " + std::to_string(size);
  }
  Layer layer("InputLayer");
  layer.set("batch_input_shape", ConfigValue::json(sizes + "]")).set("dtype", dtype);
  if (name != nullptr) layer.named(name);
  return layer(std::vector<Value>{});
}

inline constexpr const char *linear = "linear";
inline constexpr const char *relu = "relu";
inline constexpr const char *sigmoid = "sigmoid";
inline constexpr const char *softmax = "softmax";
inline constexpr const char *tanh_activation = "tanh";
inline constexpr const char *gelu = "gelu";
inline constexpr const char *silu = "silu";
inline constexpr const char *mish = "mish";
inline constexpr const char *log_softmax = "log_softmax";

// The most used layers. For any other write Layer("Conv2DTranspose").set(...).
[[nodiscard]] inline Layer dense(int64_t units, const char *activation = linear) {
  return Layer("Dense").set("units", units).activation(activation);
}
[[nodiscard]] inline Layer conv1d(int64_t filters, int64_t kernel_size,
                                  const char *activation = linear) {
  return Layer("Conv1D")
      .set("filters", filters)
      .set("kernel_size", kernel_size)
      .activation(activation);
}
[[nodiscard]] inline Layer conv2d(int64_t filters, const Shape &kernel_size,
                                  const char *activation = linear) {
  return Layer("Conv2D")
      .set("filters", filters)
      .set("kernel_size", kernel_size)
      .activation(activation);
}
[[nodiscard]] inline Layer max_pool2d(const Shape &pool_size = {2, 2}) {
  return Layer("MaxPooling2D").set("pool_size", pool_size);
}
[[nodiscard]] inline Layer average_pool2d(const Shape &pool_size = {2, 2}) {
  return Layer("AveragePooling2D").set("pool_size", pool_size);
}
[[nodiscard]] inline Layer global_average_pool2d() { return Layer("GlobalAveragePooling2D"); }
[[nodiscard]] inline Layer flatten() { return Layer("Flatten"); }
[[nodiscard]] inline Layer reshape(const Shape &shape) {
  return Layer("Reshape").set("target_shape", shape);
}
[[nodiscard]] inline Layer dropout(double rate) { return Layer("Dropout").set("rate", rate); }
[[nodiscard]] inline Layer batch_normalization() { return Layer("BatchNormalization"); }
[[nodiscard]] inline Layer layer_normalization() { return Layer("LayerNormalization"); }
[[nodiscard]] inline Layer activation(const char *name) {
  return Layer("Activation").activation(name);
}
[[nodiscard]] inline Layer embedding(int64_t input_dim, int64_t output_dim) {
  return Layer("Embedding").set("input_dim", input_dim).set("output_dim", output_dim);
}
[[nodiscard]] inline Layer lstm(int64_t units, bool return_sequences = false) {
  return Layer("LSTM").set("units", units).set("return_sequences", return_sequences);
}
[[nodiscard]] inline Layer gru(int64_t units, bool return_sequences = false) {
  return Layer("GRU").set("units", units).set("return_sequences", return_sequences);
}
[[nodiscard]] inline Layer multi_head_attention(int64_t num_heads, int64_t key_dim) {
  return Layer("MultiHeadAttention").set("num_heads", num_heads).set("key_dim", key_dim);
}
[[nodiscard]] inline Layer add() { return Layer("Add"); }
[[nodiscard]] inline Layer concatenate() { return Layer("Concatenate"); }

}  // namespace nn
}  // namespace v1
}  // namespace det
