// How far what is predicted to be of a class and what is of it are the same: intersection over
// union.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/metrics/metric_makers.h"

namespace det::nn {

namespace {

constexpr int64_t most_classes = 4096;  // each has a count with each

class IntersectionMetric : public Metric {
 public:
  // How the class of something is told.
  enum class Told { by_number, by_largest, by_threshold };

  struct Options {
    int64_t classes = 2;
    std::vector<size_t> targets;  // the classes that are told of
    Told truth = Told::by_number;
    Told prediction = Told::by_number;
    float threshold = 0.5F;
    std::optional<int64_t> ignored;  // records of this class are not counted
  };

  IntersectionMetric(std::string name, const Options &options)
      : name_(std::move(name)),
        options_(options),
        counts_(static_cast<size_t>(options.classes * options.classes), 0) {}

  std::vector<std::string> names() const override { return {name_}; }
  bool takes_any_truth() const override { return true; }

  void check(const ArrayType &truth, const ArrayType &prediction) const override {
    const bool has_labels = truth.dtype == Dtype::i32;
    const bool compares_rows = options_.prediction == Told::by_largest;
    const int64_t columns = prediction.shape.back();
    if (has_labels && (options_.truth != Told::by_number || (!compares_rows && columns != 1)))
      refuse("takes of the truth what the prediction has, and the loss numbers of classes");
    if (!has_labels && (options_.truth == Told::by_largest) != compares_rows)
      refuse(
          "takes numbers of classes for one of the truth and the prediction, and the loss an "
          "array of the prediction's shape");
    if (compares_rows && columns > options_.classes)
      refuse("is of " + std::to_string(options_.classes) + " classes; the prediction has " +
             std::to_string(columns));
  }

  bool limits_values() const override { return true; }

  void check_values(const Array &truth, const Array &) const override {
    if (truth.dtype() == Dtype::i32) return;
    const auto values = truth.elements();
    const auto nan =
        std::find_if(values.begin(), values.end(), [](float y) { return std::isnan(y); });
    if (nan == values.end()) return;
    const size_t of_record = values.size() / static_cast<size_t>(truth.shape()[0]);
    const auto record = static_cast<size_t>(nan - values.begin()) / of_record;
    throw Error(Code::invalid, "computing the metric '" + name_ + "': the label of record " +
                                   std::to_string(record) + " is NaN");
  }

  void update(const Array &truth, const Array &prediction, const Array &weights) override {
    const bool has_rows = options_.prediction == Told::by_largest;
    const auto columns = has_rows ? static_cast<size_t>(prediction.shape().back()) : 1;
    const size_t count = prediction.size() / std::max<size_t>(columns, 1);
    const size_t of_weight = weights ? count / std::max<size_t>(weights.size(), 1) : 1;
    for (size_t i = 0; i < count; ++i) {
      const int64_t is = truth.dtype() == Dtype::i32
                             ? truth.data<int32_t>()[i]
                             : class_of(truth.data() + i * columns, columns, options_.truth);
      const int64_t seems = class_of(prediction.data() + i * columns, columns, options_.prediction);
      if (is == options_.ignored || !is_class(is)) continue;
      const double weight = weights ? static_cast<double>(weights.data()[i / of_weight]) : 1;
      // What is predicted to be none of the classes is missing in its own.
      if (is_class(seems)) counts_[place(is, seems)] += weight;
      else others_[static_cast<size_t>(is)] += weight;
    }
  }

  double result(size_t) const override {
    double sum = 0;
    double classes = 0;
    for (const size_t target : options_.targets) {
      const auto one = static_cast<int64_t>(target);
      double either = others_[target] - counts_[place(one, one)];
      for (int64_t other = 0; other < options_.classes; ++other)
        either += counts_[place(one, other)] + counts_[place(other, one)];
      if (either == 0) continue;
      sum += counts_[place(one, one)] / either;
      classes += 1;
    }
    return classes == 0 ? 0 : sum / classes;
  }

  void reset() override {
    std::fill(counts_.begin(), counts_.end(), 0.0);
    std::fill(others_.begin(), others_.end(), 0.0);
  }

 private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw Error(Code::invalid, "computing the metric '" + name_ + "': it " + why);
  }

  // None of the classes for what is no whole number.
  int64_t class_of(const float *values, size_t size, Told told) const {
    if (told == Told::by_largest) return std::max_element(values, values + size) - values;
    if (told == Told::by_threshold) return *values >= options_.threshold ? 1 : 0;
    const bool is_number = *values > -1 && *values < static_cast<float>(options_.classes);
    return is_number ? static_cast<int64_t>(*values) : -1;
  }
  bool is_class(int64_t number) const { return number >= 0 && number < options_.classes; }
  size_t place(int64_t is, int64_t seems) const {
    return static_cast<size_t>(is * options_.classes + seems);
  }

  const std::string name_;
  const Options options_;
  std::vector<double> counts_;  // (what is, what it is predicted to be)
  std::vector<double> others_ = std::vector<double>(static_cast<size_t>(options_.classes), 0);
};

using Told = IntersectionMetric::Told;

std::vector<size_t> read_targets(Fields &fields, int64_t classes, const Json &usual) {
  std::vector<size_t> targets;
  const Json &given =
      usual.is_null() ? fields.any("target_class_ids") : fields.any("target_class_ids", usual);
  for (const Json &one : given.is_array() ? given : Json::array({given})) {
    if (!one.is_number_integer() || one.get<int64_t>() < 0 || one.get<int64_t>() >= classes)
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": 'target_class_ids' must be classes from 0 to " +
                                     std::to_string(classes - 1));
    targets.push_back(one.get<size_t>());
  }
  return targets;
}

}  // namespace

std::unique_ptr<Metric> make_intersection_metric(const std::string &folded, const std::string &name,
                                                 Fields &fields) {
  const bool is_binary = folded == "binaryiou";
  const bool is_mean = folded == "meaniou" || folded == "onehotmeaniou";
  const bool is_one_hot = folded == "onehotiou" || folded == "onehotmeaniou";
  if (!is_binary && !is_mean && !is_one_hot && folded != "iou") return nullptr;
  IntersectionMetric::Options options;
  if (is_binary) {
    options.prediction = Told::by_threshold;
    options.threshold = static_cast<float>(fields.number("threshold", 0.5));
    options.targets = read_targets(fields, 2, Json::array({0, 1}));
    return std::make_unique<IntersectionMetric>(name, options);
  }
  options.classes = fields.positive_integer("num_classes");
  if (options.classes > most_classes)
    throw Error(Code::invalid, "reading " + fields.where() + ": 'num_classes' is above 4096");
  for (int64_t i = 0; is_mean && i < options.classes; ++i)
    options.targets.push_back(static_cast<size_t>(i));
  if (!is_mean) options.targets = read_targets(fields, options.classes, Json());
  if (is_one_hot || !fields.flag("sparse_y_true", true)) options.truth = Told::by_largest;
  if (!fields.flag("sparse_y_pred", !is_one_hot)) options.prediction = Told::by_largest;
  if (fields.has("ignore_class")) options.ignored = fields.integer("ignore_class");
  else fields.any("ignore_class");
  fields.only("axis", -1);
  return std::make_unique<IntersectionMetric>(name, options);
}

}  // namespace det::nn
