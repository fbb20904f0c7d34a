// The features of a model, while a model_fn describes it.
#pragma once

#include <det/estimator/categorical_column.hpp>
#include <det/nlohmann_json.hpp>
#include <det/nn.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

// The inputs of a model. Each feature that is asked for becomes an input. Asked for again, it is
// the same input.
class Features {
 public:
  // Features have the names, shapes and types of `example`.
  explicit Features(nn::Batch example) : example_(std::move(example)) {}

  // Returns an unchanged feature. Throws std::out_of_range for an unknown name, and
  // std::invalid_argument if the feature has no records, or texts.
  nn::Value operator[](const std::string &key) {
    if (const auto asked = asked_.find(key); asked != asked_.end()) return asked->second;
    const nn::Array &values = detail::feature_of(example_, key);
    if (values.has_texts())
      detail::refuse_feature(key, "it has texts, which a model takes through a feature column");
    const nn::Shape shape(values.shape().begin() + 1, values.shape().end());
    const nn::Value input =
        nn::input(shape, key.empty() ? "features" : key.c_str(), dtype_of(values));
    asked_.emplace(key, input);
    return place(input, [key](const nn::Batch &batch) { return batch.feature(key); });
  }

  // The numbers of feature columns side by side, with the model's embeddings: {records, the
  // columns' widths}. Throws as feature_of() if a column has no feature.
  nn::Value input_layer(const std::vector<DenseColumn> &columns) {
    for (const DenseColumn &column : columns) (void)detail::feature_of(example_, column.key());
    const std::string name = "input_layer" + (layers_ == 0 ? "" : "_" + std::to_string(layers_));
    ++layers_;
    return estimator::input_layer(
        columns, name, [&](const nn::Value &input, const std::vector<DenseColumn> &part) {
          place(input, [part](const nn::Batch &batch) { return part_of(batch, part); });
        });
  }

  // In the order of the first requests.
  [[nodiscard]] const std::vector<nn::Value> &inputs() const { return inputs_; }
  // The names of the inputs.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const nn::Value &input : inputs_)
      names.push_back(nlohmann::json::parse(input.node()->layer->field("name")));
    return names;
  }
  // Makes the batch that the model takes.
  [[nodiscard]] nn::Batch read(const nn::Batch &batch) const {
    nn::Batch taken{{}, batch.truths, batch.sample_weights};
    for (const Reader &read : readers_) taken.inputs.push_back(read(batch));
    return taken;
  }

 private:
  using Reader = std::function<nn::Array(const nn::Batch &)>;

  nn::Value place(const nn::Value &input, Reader reader) {
    inputs_.push_back(input);
    readers_.push_back(std::move(reader));
    return input;
  }
  // The name in Keras. Numbers with a point keep their type.
  static const char *dtype_of(const nn::Array &values) {
    switch (values.dtype()) {
      case Dtype::i32:
        return "int32";
      case Dtype::i64:
        return "int64";
      default:
        return "float32";
    }
  }

  nn::Batch example_;
  std::map<std::string, nn::Value> asked_;
  std::vector<nn::Value> inputs_;
  std::vector<Reader> readers_;
  size_t layers_ = 0;
};

}  // namespace estimator
}  // namespace v1
}  // namespace det
