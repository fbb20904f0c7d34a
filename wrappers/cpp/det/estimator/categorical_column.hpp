// Feature columns of categories, and the numbers that a network takes from all columns.
#pragma once

#include <det/estimator/categories.hpp>

#include <cmath>

namespace det {
inline namespace v1 {
namespace estimator {

// Counts each category of a record.
[[nodiscard]] inline DenseColumn indicator_column(const CategoricalColumn &source) {
  return {source.key() + "_indicator", source.key(), source.categories(),
          [=](const nn::Array &values) { return source.counts(values); }};
}

struct EmbeddingOptions {
  // Combines the embeddings of a record with several categories: "mean", "sum", or "sqrtn". The
  // last one divides the sum by the root of their number.
  std::string combiner = "mean";
  // As Keras names it. null: normal numbers with a deviation of one over the root of the dimension.
  nn::ConfigValue initializer = nullptr;
  bool trainable = true;
};

// `dimension` numbers for each category, which are trained. Zeros for a record without a category.
[[nodiscard]] inline DenseColumn embedding_column(const CategoricalColumn &source,
                                                  int64_t dimension,
                                                  const EmbeddingOptions &options = {}) {
  const auto refuse = [&](const std::string &why) {
    throw std::invalid_argument("making an embedding of the column '" + source.key() + "': " + why);
  };
  if (dimension < 1) refuse("its dimension is 1 or more");
  const std::string combiner = options.combiner;
  if (combiner != "mean" && combiner != "sum" && combiner != "sqrtn")
    refuse("there is no combiner '" + combiner + "'; there are 'mean', 'sum' and 'sqrtn'");

  // The product of these with the embeddings gives the numbers of a record.
  const auto weighted_counts = [=](const nn::Array &values) {
    const auto categories = static_cast<size_t>(source.categories());
    std::vector<float> counts = source.counts(values);
    for (auto begin = counts.begin(); begin != counts.end() && combiner != "sum";) {
      const auto end = begin + static_cast<std::ptrdiff_t>(categories);
      float divisor = 0;
      for (auto count = begin; count != end; ++count) divisor += *count;
      if (combiner == "sqrtn") divisor = std::sqrt(divisor);
      for (; begin != end; ++begin)
        if (divisor > 0) *begin /= divisor;
    }
    return counts;
  };
  const std::string name = source.key() + "_embedding";
  nn::Described usual("TruncatedNormal");
  usual.set_field("stddev", 1 / std::sqrt(static_cast<double>(dimension)));
  const nn::ConfigValue initializer = options.initializer.text() == "null"
                                          ? nn::ConfigValue::json(usual.json())
                                          : options.initializer;
  return {name, source.key(), source.categories(), weighted_counts,
          [=, trainable = options.trainable] {
            return nn::dense(dimension)
                .use_bias(false)
                .kernel_initializer(initializer)
                .set("trainable", trainable);
          }};
}

// The columns of a network in the order of their names. Neighbours without weights form one part. A
// model has an input for each part, and applies the layer of its column if that has one. Throws
// std::invalid_argument without columns, and if two have one name.
[[nodiscard]] inline std::vector<std::vector<DenseColumn>> input_parts(
    std::vector<DenseColumn> columns) {
  if (columns.empty()) throw std::invalid_argument("making an input layer: it has no column");
  std::sort(columns.begin(), columns.end(),
            [](const DenseColumn &a, const DenseColumn &b) { return a.name() < b.name(); });
  std::vector<std::vector<DenseColumn>> parts;
  const DenseColumn *before = nullptr;
  for (const DenseColumn &column : columns) {
    if (before != nullptr && column.name() == before->name())
      throw std::invalid_argument("making an input layer: two columns have the name '" +
                                  column.name() + "'");
    if (before == nullptr || column.layer() || before->layer()) parts.emplace_back();
    parts.back().push_back(column);
    before = &column;
  }
  return parts;
}

[[nodiscard]] inline int64_t width_of(const std::vector<DenseColumn> &part) {
  int64_t width = 0;
  for (const DenseColumn &column : part) width += column.width();
  return width;
}

// The input of a model for a part of a batch: {records, width_of(part)}. Throws
// std::invalid_argument if features have different numbers of records.
[[nodiscard]] inline nn::Array part_of(const nn::Batch &batch,
                                       const std::vector<DenseColumn> &part) {
  const int64_t width = width_of(part);
  const nn::Array all = nn::Array::unset(Dtype::f32, {batch.records(), width});
  float *place = all.data();
  for (const DenseColumn &column : part) {
    const nn::Array numbers = column.transform(batch);
    if (numbers.records() != batch.records())
      throw std::invalid_argument("making an input layer: the column '" + column.name() + "' has " +
                                  std::to_string(numbers.records()) + " records, and the batch " +
                                  std::to_string(batch.records()));
    for (int64_t record = 0; record < numbers.records(); ++record)
      std::copy_n(numbers.data() + record * column.width(), column.width(), place + record * width);
    place += column.width();
  }
  return all;
}

// All columns of a batch side by side: {records, the columns' widths}. Throws std::invalid_argument
// if a column has weights, columns share a name, or features have different numbers of records.
[[nodiscard]] inline nn::Array input_layer(const nn::Batch &batch,
                                           const std::vector<DenseColumn> &columns) {
  const auto parts = input_parts(columns);
  for (const DenseColumn &column : columns)
    if (column.layer())
      throw std::invalid_argument("making an input layer: the column '" + column.name() +
                                  "' has weights, which only a model has; see input_parts()");
  return part_of(batch, parts[0]);
}

// All columns in a functional model: {records, the columns' widths, or the dimension of an
// embedding}. `place` is called with each input and its part. part_of() gives the numbers of a
// part.
template <class Place>
[[nodiscard]] nn::Value input_layer(const std::vector<DenseColumn> &columns,
                                    const std::string &name, const Place &place) {
  std::vector<nn::Value> values;
  const auto parts = input_parts(columns);
  for (const std::vector<DenseColumn> &part : parts) {
    const std::string first = name + "/" + part[0].name();
    const bool is_alone = parts.size() == 1 && !part[0].layer();
    const nn::Value numbers =
        nn::input({width_of(part)}, (is_alone ? name : first + "/numbers").c_str());
    place(numbers, part);
    std::optional<nn::Layer> layer = part[0].layer();
    values.push_back(layer ? layer->named(first)(numbers) : numbers);
  }
  return values.size() == 1 ? values[0] : nn::concatenate().named(name + "/concat")(values);
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
