#include "wrappers/nn/metrics/area_under_curve.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::nn {

namespace {

constexpr float beyond = 1e-7F;
// Each record is compared with all of them.
constexpr int64_t most_thresholds = 1'000'000;
// Of all labels together.
constexpr int64_t most_counts = 4'000'000;

double quotient(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// Empty where there are none. Keras writes arrays of NumPy as objects of their own.
std::vector<float> numbers_of(Fields &fields, const char *key) {
  Json given = fields.any(key);
  if (given.is_object() && given.value("class_name", Json()) == "__numpy__")
    given = given.value("/config/value"_json_pointer, Json());
  std::vector<float> numbers;
  for (const Json &one : given) {
    if (!given.is_array() || !one.is_number())
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": '" + key + "' must be an array of numbers");
    numbers.push_back(one.get<float>());
  }
  return numbers;
}

}  // namespace

AreaUnderCurve::AreaUnderCurve(Fields &fields) : count_(fields.integer("num_thresholds", 200)) {
  const std::string curve = fields.text("curve", "ROC");
  const std::string between = fields.text("summation_method", "interpolation");
  is_precision_ = curve == "PR";
  if (between == "minoring") between_ = Between::minoring;
  else if (between == "majoring") between_ = Between::majoring;
  const bool is_known = (is_precision_ || curve == "ROC") &&
                        (between_ != Between::interpolation || between == "interpolation");
  if (!is_known || count_ < 2 || count_ > most_thresholds)
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": 'curve' is ROC or PR, 'summation_method' interpolation, "
                                   "minoring or majoring, and 'num_thresholds' from 2 to 1000000");
  given_ = numbers_of(fields, "thresholds");
  std::sort(given_.begin(), given_.end());
  if (!given_.empty() && (!(given_.front() >= 0) || !(given_.back() <= 1)))
    throw Error(Code::invalid, "reading " + fields.where() + ": 'thresholds' must be from 0 to 1");
  label_weights_ = numbers_of(fields, "label_weights");
  if (std::any_of(label_weights_.begin(), label_weights_.end(), [](float w) { return !(w >= 0); }))
    throw Error(Code::invalid, "reading " + fields.where() + ": 'label_weights' are below 0");
  const bool is_apart = fields.flag("multi_label", false);
  if (fields.has("num_labels")) labels_ = fields.positive_integer("num_labels");
  else fields.any("num_labels");
  if (labels_.has_value() != is_apart)
    throw Error(Code::invalid, "reading " + fields.where() +
                                   ": with 'multi_label', and only then, 'num_labels' is given");
  if (labels_.value_or(1) > most_counts / static_cast<int64_t>(thresholds().size()))
    throw Error(Code::invalid, "reading " + fields.where() + ": " +
                                   std::to_string(labels_.value_or(1)) +
                                   " labels at so many thresholds are too much to be counted");
}

std::vector<float> AreaUnderCurve::thresholds() const {
  std::vector<float> all{-beyond};
  if (!given_.empty()) {
    all.insert(all.end(), given_.begin(), given_.end());
    all.push_back(1 + beyond);
    return all;
  }
  for (int64_t i = 1; i + 1 < count_; ++i)
    all.push_back(static_cast<float>(static_cast<double>(i) / static_cast<double>(count_ - 1)));
  all.push_back(1 + beyond);
  return all;
}

double AreaUnderCurve::of(const std::vector<Confusion> &counted) const {
  double sum = 0;
  double weights = 0;
  for (size_t label = 0; label < counted.size(); ++label) {
    const bool is_weighed = labels_ && !label_weights_.empty();
    const double weight = is_weighed ? static_cast<double>(label_weights_[label]) : 1;
    sum += weight * of_one(counted[label]);
    weights += weight;
  }
  return quotient(sum, weights);
}

double AreaUnderCurve::of_one(const Confusion &counted) const {
  if (is_precision_ && between_ == Between::interpolation) return under_precision(counted);
  const auto point = [&](size_t i) {
    const double recall =
        quotient(counted.true_positives[i], counted.true_positives[i] + counted.false_negatives[i]);
    if (is_precision_)
      return std::pair(recall, quotient(counted.true_positives[i],
                                        counted.true_positives[i] + counted.false_positives[i]));
    return std::pair(quotient(counted.false_positives[i],
                              counted.false_positives[i] + counted.true_negatives[i]),
                     recall);
  };
  double area = 0;
  for (size_t i = 0; i + 1 < counted.thresholds.size(); ++i) {
    const auto left = point(i);
    const auto right = point(i + 1);
    double height = (left.second + right.second) / 2;
    if (between_ == Between::minoring) height = std::min(left.second, right.second);
    if (between_ == Between::majoring) height = std::max(left.second, right.second);
    area += (left.first - right.first) * height;
  }
  return area;
}

// Between two points the true positives grow evenly with all positives, which makes the precision a
// curve (Davis and Goadrich, 2006).
double AreaUnderCurve::under_precision(const Confusion &counted) const {
  double area = 0;
  for (size_t i = 0; i + 1 < counted.thresholds.size(); ++i) {
    const double more = counted.true_positives[i] + counted.false_positives[i];
    const double less = counted.true_positives[i + 1] + counted.false_positives[i + 1];
    const double gained = counted.true_positives[i] - counted.true_positives[i + 1];
    const double slope = quotient(gained, std::max(more - less, 0.0));
    const double offset = counted.true_positives[i + 1] - slope * less;
    const double ratio = more > 0 && less > 0 ? more / less : 1;
    area += quotient(slope * (gained + offset * std::log(ratio)),
                     counted.true_positives[i + 1] + counted.false_negatives[i + 1]);
  }
  return area;
}

}  // namespace det::nn
