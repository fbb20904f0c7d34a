// Feature columns: they make the numbers for a network from named features of records. Follows
// tf.feature_column.
#pragma once

#include <det/nn/batch.hpp>
#include <det/nn/layer.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace det {
inline namespace v1 {
namespace estimator {

namespace detail {

[[noreturn]] inline void refuse_feature(const std::string &key, const std::string &why) {
  throw std::invalid_argument("reading the feature '" + key + "': " + why);
}

// Throws std::out_of_range if the batch has no such feature, and std::invalid_argument if the
// feature has no records.
[[nodiscard]] inline const nn::Array &feature_of(const nn::Batch &batch, const std::string &key) {
  const nn::Array &values = batch.feature(key);
  if (values.shape().empty()) refuse_feature(key, "its array has no axis of records");
  return values;
}

// The count of numbers that a record has of a feature.
[[nodiscard]] inline size_t width_of(const nn::Array &values) {
  size_t width = 1;
  for (size_t i = 1; i < values.shape().size(); ++i)
    width *= static_cast<size_t>(values.shape()[i]);
  return width;
}

// The numbers of a feature as `Number`, from any type.
template <class Number>
[[nodiscard]] std::vector<Number> numbers_of(const std::string &key, const nn::Array &values) {
  if (values.has_texts())
    refuse_feature(key,
                   "it has texts, and its column takes numbers; columns over texts are "
                   "categorical_column_with_vocabulary_list() and ..._with_hash_bucket()");
  const auto read = [&](auto as) {
    const auto *first = values.data<decltype(as)>();
    const auto *end = first + values.elements();
    if constexpr (std::is_same_v<Number, int64_t> && std::is_same_v<decltype(as), uint64_t>) {
      const uint64_t most = std::numeric_limits<int64_t>::max();
      const auto over = std::find_if(first, end, [=](uint64_t number) { return number > most; });
      if (over != end)
        refuse_feature(key, "it has " + std::to_string(*over) +
                                ", and the greatest that a column " + "of categories takes is " +
                                std::to_string(most));
    }
    return std::vector<Number>(first, end);
  };
  switch (values.dtype()) {
    case Dtype::i8:
      return read(int8_t());
    case Dtype::u8:
      return read(uint8_t());
    case Dtype::i16:
      return read(int16_t());
    case Dtype::u16:
      return read(uint16_t());
    case Dtype::i32:
      return read(int32_t());
    case Dtype::u32:
      return read(uint32_t());
    case Dtype::i64:
      return read(int64_t());
    case Dtype::u64:
      return read(uint64_t());
    case Dtype::f32:
      if constexpr (std::is_floating_point_v<Number>) return read(float());
      break;
    case Dtype::f64:
      if constexpr (std::is_floating_point_v<Number>) return read(double());
      break;
    default:
      break;
  }
  refuse_feature(key,
                 std::string("a column of its kind takes no ") + dtype_name(values.dtype()) +
                     (std::is_floating_point_v<Number> ? "; make F32 of it" : "; make I64 of it"));
}

}  // namespace detail

// A column that gives `width` numbers for each record. Copies share their function.
class DenseColumn {
 public:
  // Returns `width` numbers for each record of the feature.
  using Transform = std::function<std::vector<float>(const nn::Array &)>;
  using MakeLayer = std::function<nn::Layer()>;

  DenseColumn(std::string name, std::string key, int64_t width, Transform transform,
              MakeLayer make_layer = {})
      : name_(std::move(name)),
        key_(std::move(key)),
        width_(width),
        transform_(std::move(transform)),
        make_layer_(std::move(make_layer)) {}

  [[nodiscard]] const std::string &name() const noexcept { return name_; }
  // The name of the feature that it reads.
  [[nodiscard]] const std::string &key() const noexcept { return key_; }
  [[nodiscard]] int64_t width() const noexcept { return width_; }
  // Returns {records, width()}. Throws std::out_of_range if the batch has no such feature, and
  // std::invalid_argument if the feature does not fit.
  [[nodiscard]] nn::Array transform(const nn::Batch &batch) const {
    const nn::Array &values = detail::feature_of(batch, key_);
    return nn::Array(transform_(values), {values.records(), width_});
  }
  // A new layer with trained weights that a model applies to those numbers. Most columns have none.
  [[nodiscard]] std::optional<nn::Layer> layer() const {
    return make_layer_ ? std::optional(make_layer_()) : std::nullopt;
  }

 private:
  std::string name_, key_;
  int64_t width_;
  Transform transform_;
  MakeLayer make_layer_;
};

// The numbers of a feature, unchanged or changed by a function.
class NumericColumn {
 public:
  using Normalizer = std::function<double(double)>;

  NumericColumn(std::string key, const nn::Shape &shape, Normalizer normalizer)
      : key_(std::move(key)), normalizer_(std::move(normalizer)) {
    for (const int64_t size : shape) {
      if (size < 1)
        throw std::invalid_argument("making the numeric column '" + key_ +
                                    "': every size of its shape is 1 or more");
      if (size > std::numeric_limits<int64_t>::max() / width_)
        throw std::invalid_argument("making the numeric column '" + key_ +
                                    "': its shape has more numbers than there can be");
      width_ *= size;
    }
  }

  [[nodiscard]] const std::string &key() const noexcept { return key_; }
  [[nodiscard]] int64_t width() const noexcept { return width_; }
  [[nodiscard]] std::vector<double> numbers(const nn::Array &values) const {
    std::vector<double> numbers = detail::numbers_of<double>(key_, values);
    if (const size_t found = detail::width_of(values); found != static_cast<size_t>(width_))
      detail::refuse_feature(key_, "a record has " + std::to_string(found) +
                                       " numbers, and its column is made for " +
                                       std::to_string(width_));
    if (normalizer_) std::transform(numbers.begin(), numbers.end(), numbers.begin(), normalizer_);
    return numbers;
  }
  operator DenseColumn() const {
    return {key_, key_, width_, [column = *this](const nn::Array &values) {
              const std::vector<double> numbers = column.numbers(values);
              return std::vector<float>(numbers.begin(), numbers.end());
            }};
  }

 private:
  std::string key_;
  int64_t width_ = 1;
  Normalizer normalizer_;
};

[[nodiscard]] inline NumericColumn numeric_column(std::string key, const nn::Shape &shape = {1},
                                                  NumericColumn::Normalizer normalizer = {}) {
  return {std::move(key), shape, std::move(normalizer)};
}

// Sets one of `boundaries` + 1 places to 1 for each number. A boundary belongs to the place above
// it. Throws std::invalid_argument unless the boundaries are rising numbers.
[[nodiscard]] inline DenseColumn bucketized_column(const NumericColumn &source,
                                                   std::vector<double> boundaries) {
  const bool are_numbers = std::none_of(boundaries.begin(), boundaries.end(),
                                        [](double boundary) { return std::isnan(boundary); });
  if (boundaries.empty() || !are_numbers ||
      std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>()) !=
          boundaries.end())
    throw std::invalid_argument("making buckets of the column '" + source.key() +
                                "': give boundaries, each greater than the one before");
  const auto buckets = static_cast<int64_t>(boundaries.size()) + 1;
  return {source.key() + "_bucketized", source.key(), source.width() * buckets,
          [=, boundaries = std::move(boundaries)](const nn::Array &values) {
            const std::vector<double> numbers = source.numbers(values);
            std::vector<float> chosen(numbers.size() * static_cast<size_t>(buckets));
            for (size_t i = 0; i < numbers.size(); ++i) {
              const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), numbers[i]);
              chosen[i * static_cast<size_t>(buckets) +
                     static_cast<size_t>(above - boundaries.begin())] = 1;
            }
            return chosen;
          }};
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
