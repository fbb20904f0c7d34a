// Feature columns of categories, and what makes numbers of all columns of a network.
#pragma once

#include <det/estimator/feature_column.hpp>

#include <optional>

namespace det {
inline namespace v1 {
namespace estimator {

// Whole numbers that stand for categories, any count of them in a record. A category below 0 is
// none.
class CategoricalColumn {
 public:
  using Category = std::function<int64_t(int64_t)>;

  CategoricalColumn(std::string key, int64_t categories, Category category)
      : key_(std::move(key)), categories_(categories), category_(std::move(category)) {
    if (categories < 1)
      throw std::invalid_argument("making the categorical column '" + key_ +
                                  "': it has one category or more");
  }

  [[nodiscard]] const std::string &key() const noexcept { return key_; }
  [[nodiscard]] int64_t categories() const noexcept { return categories_; }
  [[nodiscard]] std::vector<int64_t> categories_of(const nn::Array &values) const {
    std::vector<int64_t> found = detail::numbers_of<int64_t>(key_, values);
    std::transform(found.begin(), found.end(), found.begin(), category_);
    return found;
  }

 private:
  std::string key_;
  int64_t categories_;
  Category category_;
};

// The numbers 0 to `categories` - 1 are the categories. Others are `otherwise`, or refused where
// there is none.
[[nodiscard]] inline CategoricalColumn categorical_column_with_identity(
    const std::string &key, int64_t categories, std::optional<int64_t> otherwise = {}) {
  if (otherwise && (*otherwise < 0 || *otherwise >= categories))
    throw std::invalid_argument("making the categorical column '" + key + "': what it takes " +
                                "otherwise is none of its " + std::to_string(categories) +
                                " categories");
  return {key, categories, [=](int64_t number) {
            if (number >= 0 && number < categories) return number;
            if (otherwise) return *otherwise;
            detail::refuse_feature(key, "it has " + std::to_string(number) +
                                            ", and its column is made for 0 to " +
                                            std::to_string(categories - 1));
          }};
}

// The numbers of a list are the categories, in its order; others are none.
[[nodiscard]] inline CategoricalColumn categorical_column_with_vocabulary_list(
    const std::string &key, const std::vector<int64_t> &vocabulary) {
  std::map<int64_t, int64_t> places;
  for (const int64_t word : vocabulary)
    if (!places.emplace(word, static_cast<int64_t>(places.size())).second)
      throw std::invalid_argument("making the categorical column '" + key +
                                  "': its vocabulary has " + std::to_string(word) + " twice");
  return {key, static_cast<int64_t>(vocabulary.size()), [places](int64_t number) {
            const auto found = places.find(number);
            return found == places.end() ? int64_t{-1} : found->second;
          }};
}

// How often a record has each category.
[[nodiscard]] inline DenseColumn indicator_column(const CategoricalColumn &source) {
  return {source.key() + "_indicator", source.key(), source.categories(),
          [=](const nn::Array &values) {
            const auto categories = static_cast<size_t>(source.categories());
            const size_t width = detail::width_of(values);
            const std::vector<int64_t> found = source.categories_of(values);
            std::vector<float> counts(static_cast<size_t>(values.records()) * categories);
            for (size_t i = 0; i < found.size(); ++i)
              if (found[i] >= 0) ++counts[i / width * categories + static_cast<size_t>(found[i])];
            return counts;
          }};
}

// What a network takes of a batch: its columns side by side, in the order of their names; of the
// shape {records, the columns' widths}. Throws std::invalid_argument where columns share a name or
// features have different numbers of records.
[[nodiscard]] inline nn::Array input_layer(const nn::Batch &batch,
                                           std::vector<DenseColumn> columns) {
  if (columns.empty()) throw std::invalid_argument("making an input layer: it has no column");
  std::sort(columns.begin(), columns.end(),
            [](const DenseColumn &a, const DenseColumn &b) { return a.name() < b.name(); });
  int64_t width = 0;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0 && columns[i].name() == columns[i - 1].name())
      throw std::invalid_argument("making an input layer: two columns have the name '" +
                                  columns[i].name() + "'");
    width += columns[i].width();
  }
  const nn::Array all = nn::Array::unset(Dtype::f32, {batch.records(), width});
  float *place = all.data();
  for (const DenseColumn &column : columns) {
    const nn::Array part = column.transform(batch);
    if (part.records() != batch.records())
      throw std::invalid_argument("making an input layer: the column '" + column.name() + "' has " +
                                  std::to_string(part.records()) + " records, and the batch " +
                                  std::to_string(batch.records()));
    for (int64_t record = 0; record < part.records(); ++record)
      std::copy_n(part.data() + record * column.width(), column.width(), place + record * width);
    place += column.width();
  }
  return all;
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
