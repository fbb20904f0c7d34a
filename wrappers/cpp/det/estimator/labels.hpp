// Labels of classes, in the form that a head takes.
#pragma once

#include <det/estimator/feature_column.hpp>
#include <det/nn/texts.hpp>

#include <set>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

[[noreturn]] inline void refuse_label(size_t record, const std::string &label,
                                      const std::string &why) {
  throw std::invalid_argument("classifying: the label of record " + std::to_string(record) +
                              " is " + label + "; " + why);
}

// Throws std::invalid_argument unless every label is an integer from 0 to `n_classes` - 1.
inline void check_labels(const nn::Array &labels, int64_t n_classes) {
  const std::vector<double> numbers = numbers_of<double>("labels", labels);
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!(numbers[i] >= 0 && numbers[i] < static_cast<double>(n_classes)) ||
        numbers[i] != std::trunc(numbers[i]))
      refuse_label(i, nn::ConfigValue(numbers[i]).text(),
                   "of " + std::to_string(n_classes) + " classes they are the numbers from 0 to " +
                       std::to_string(n_classes - 1) + ", and n_classes says how many there are");
}

// The places of texts in a vocabulary, {records, 1}. Throws std::invalid_argument for another text,
// and unless there is one text for each record.
[[nodiscard]] inline nn::Array places_of(const nn::Array &labels,
                                         const std::vector<std::string> &vocabulary) {
  if (!labels.has_texts())
    throw std::invalid_argument(
        "classifying: with a label_vocabulary labels are texts, which det::nn::texts() makes");
  std::vector<int64_t> places;
  for (const std::string_view text : nn::texts_of(labels)) {
    const auto found = std::find(vocabulary.begin(), vocabulary.end(), text);
    if (found == vocabulary.end())
      refuse_label(places.size(), "'" + std::string(text) + "'",
                   "the label_vocabulary has no such text");
    places.push_back(found - vocabulary.begin());
  }
  if (static_cast<int64_t>(places.size()) != labels.records())
    throw std::invalid_argument("classifying: a record has one label, not " +
                                std::to_string(places.size()) + " for " +
                                std::to_string(labels.records()) + " records");
  const int64_t records = labels.records();
  return nn::Array(std::move(places), {records, 1});
}

inline void check_vocabulary(const std::vector<std::string> &vocabulary, int64_t n_classes) {
  if (vocabulary.empty()) return;
  if (static_cast<int64_t>(vocabulary.size()) != n_classes)
    throw std::invalid_argument("making a classifier: its label_vocabulary has " +
                                std::to_string(vocabulary.size()) + " texts, and n_classes is " +
                                std::to_string(n_classes));
  if (std::set<std::string>(vocabulary.begin(), vocabulary.end()).size() != vocabulary.size())
    throw std::invalid_argument("making a classifier: its label_vocabulary has a text twice");
}

}  // namespace detail
}  // namespace estimator
}  // namespace v1
}  // namespace det
