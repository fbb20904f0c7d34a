// Reads the categories of records from their features.
#pragma once

#include <det/estimator/feature_column.hpp>
#include <det/estimator/fingerprint.hpp>
#include <det/nn/texts.hpp>

#include <optional>

namespace det {
inline namespace v1 {
namespace estimator {

// Numbers or texts that name categories, any count of them in a record. A category below 0 means
// none. Padding with -1 or with empty texts means none in every column.
class CategoricalColumn {
 public:
  // Returns the category of each number or text of the feature, the same count for each record. A
  // category is 0 to `categories` - 1, or below 0.
  using Categories = std::function<std::vector<int64_t>(const nn::Array &)>;

  // Throws std::invalid_argument without categories, and without a function.
  CategoricalColumn(std::string key, int64_t categories, Categories categories_of)
      : key_(std::move(key)), categories_(categories), categories_of_(std::move(categories_of)) {
    if (categories < 1)
      throw std::invalid_argument("making the categorical column '" + key_ +
                                  "': it has one category or more");
    if (!categories_of_)
      throw std::invalid_argument("making the categorical column '" + key_ +
                                  "': there is no function that gives categories");
  }

  [[nodiscard]] const std::string &key() const noexcept { return key_; }
  [[nodiscard]] int64_t categories() const noexcept { return categories_; }
  [[nodiscard]] std::vector<int64_t> categories_of(const nn::Array &values) const {
    return categories_of_(values);
  }
  // Counts each category of each record: {records, categories()}. Throws std::invalid_argument if
  // the feature does not fit, or the function returns an unknown category.
  [[nodiscard]] std::vector<float> counts(const nn::Array &values) const {
    const auto categories = static_cast<size_t>(categories_);
    const auto records = static_cast<size_t>(values.records());
    const std::vector<int64_t> found = categories_of_(values);
    const size_t of_record = records == 0 ? 0 : found.size() / records;
    if (of_record * records != found.size())
      detail::refuse_feature(key_, "its column gives " + std::to_string(found.size()) +
                                       " categories for " + std::to_string(records) + " records");
    std::vector<float> counts(records * categories);
    for (size_t i = 0; i < found.size(); ++i) {
      if (found[i] >= categories_)
        detail::refuse_feature(key_, "its column gives the category " + std::to_string(found[i]) +
                                         ", and is made for " + std::to_string(categories_));
      if (found[i] >= 0) ++counts[i / of_record * categories + static_cast<size_t>(found[i])];
    }
    return counts;
  }

 private:
  std::string key_;
  int64_t categories_;
  Categories categories_of_;
};

namespace detail {

template <class Category>
[[nodiscard]] std::vector<int64_t> categories_of_numbers(const std::string &key,
                                                         const nn::Array &values,
                                                         const Category &category) {
  std::vector<int64_t> found = numbers_of<int64_t>(key, values);
  for (int64_t &number : found)
    if (number != -1) number = category(number);
  return found;
}

template <class Category>
[[nodiscard]] std::vector<int64_t> categories_of_texts(const std::string &key,
                                                       const nn::Array &values,
                                                       const Category &category) {
  if (values.dtype() != Dtype::u8 || values.shape().size() < 2)
    refuse_feature(key, "its column takes texts; make them with det::nn::texts()");
  std::vector<int64_t> found;
  for (const std::string_view text : nn::texts_of(values))
    found.push_back(text.empty() ? -1 : category(text));
  return found;
}

// The places of words in their list.
template <class Word>
class Vocabulary {
 public:
  Vocabulary(const std::string &key, const std::vector<Word> &words) {
    for (const Word &word : words)
      if (!places_.emplace(word, static_cast<int64_t>(places_.size())).second)
        throw std::invalid_argument("making the categorical column '" + key +
                                    "': its vocabulary has " + name_of(word) + " twice");
  }

  template <class Some>
  [[nodiscard]] int64_t operator()(const Some &word) const {
    const auto found = places_.find(word);
    return found == places_.end() ? -1 : found->second;
  }

 private:
  static std::string name_of(int64_t word) { return std::to_string(word); }
  static std::string name_of(const std::string &word) { return "'" + word + "'"; }

  std::map<Word, int64_t, std::less<>> places_;
};

}  // namespace detail

// The numbers 0 to `categories` - 1 are the categories. Others become `otherwise`. Without it they
// are rejected.
[[nodiscard]] inline CategoricalColumn categorical_column_with_identity(
    const std::string &key, int64_t categories, std::optional<int64_t> otherwise = {}) {
  if (otherwise && (*otherwise < 0 || *otherwise >= categories))
    throw std::invalid_argument("making the categorical column '" + key + "': what it takes " +
                                "otherwise is none of its " + std::to_string(categories) +
                                " categories");
  const auto category = [=](int64_t number) {
    if (number >= 0 && number < categories) return number;
    if (otherwise) return *otherwise;
    detail::refuse_feature(key, "it has " + std::to_string(number) +
                                    ", and its column is made for 0 to " +
                                    std::to_string(categories - 1));
  };
  return {key, categories, [=](const nn::Array &values) {
            return detail::categories_of_numbers(key, values, category);
          }};
}

// The numbers of a list are the categories, in its order. Other numbers have none.
[[nodiscard]] inline CategoricalColumn categorical_column_with_vocabulary_list(
    const std::string &key, const std::vector<int64_t> &vocabulary) {
  return {key, static_cast<int64_t>(vocabulary.size()),
          [key, category = detail::Vocabulary(key, vocabulary)](const nn::Array &values) {
            return detail::categories_of_numbers(key, values, category);
          }};
}

// The same for texts that det::nn::texts() makes.
[[nodiscard]] inline CategoricalColumn categorical_column_with_vocabulary_list(
    const std::string &key, const std::vector<std::string> &vocabulary) {
  return {key, static_cast<int64_t>(vocabulary.size()),
          [key, category = detail::Vocabulary(key, vocabulary)](const nn::Array &values) {
            return detail::categories_of_texts(key, values, category);
          }};
}

// Puts texts, and integers as text, in one of `hash_bucket_size` buckets by their fingerprint.
// Unsigned numbers of 8 bits are those of texts.
[[nodiscard]] inline CategoricalColumn categorical_column_with_hash_bucket(
    const std::string &key, int64_t hash_bucket_size) {
  const auto bucket = [=](std::string_view text) {
    return static_cast<int64_t>(fingerprint64(text) % static_cast<uint64_t>(hash_bucket_size));
  };
  return {key, hash_bucket_size, [=](const nn::Array &values) {
            if (values.dtype() == Dtype::u8)
              return detail::categories_of_texts(key, values, bucket);
            return detail::categories_of_numbers(
                key, values, [&](int64_t number) { return bucket(std::to_string(number)); });
          }};
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
