#include "wrappers/nn/metrics/confusion_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/metrics/area_under_curve.h"
#include "wrappers/nn/metrics/largest_of_row.h"

namespace det::nn {

Confusion::Confusion(std::vector<float> at) : thresholds(std::move(at)) { reset(); }

void Confusion::reset() {
  for (auto *sums : {&true_positives, &false_positives, &true_negatives, &false_negatives})
    sums->assign(thresholds.size(), 0);
}

void Confusion::add(float prediction, bool is_so, double weight) {
  for (size_t i = 0; i < thresholds.size(); ++i) {
    if (prediction > thresholds[i]) (is_so ? true_positives : false_positives)[i] += weight;
    else (is_so ? false_negatives : true_negatives)[i] += weight;
  }
}

namespace {

// As Keras has it for what is not among the largest: below all thresholds but its own.
constexpr float left_out = -1e10F;

// The last bits of a probability may be more than 1.
constexpr float most_probable = 1 + 1e-6F;

double part_of_sum(double part, double rest) { return part + rest == 0 ? 0 : part / (part + rest); }

class ConfusionMetric : public Metric {
 public:
  // Of what was counted of each label apart, or of all together.
  using Result = std::function<double(const std::vector<Confusion> &counted, size_t threshold)>;

  struct Options {
    std::vector<float> thresholds;
    std::optional<int64_t> class_id;  // only that column of the predictions
    std::optional<int64_t> top_k;     // only those of a row are positive
    bool is_area = false;             // of which logits can be said
    bool from_logits = false;
    std::optional<int64_t> labels = {};  // each counted apart
    std::vector<float> label_weights = {};
  };

  ConfusionMetric(std::vector<std::string> names, const Options &options, Result result)
      : names_(std::move(names)),
        options_(options),
        counted_(static_cast<size_t>(options.labels.value_or(1)), Confusion(options.thresholds)),
        result_(std::move(result)) {}

  std::vector<std::string> names() const override { return names_; }

  void check(const ArrayType &, const ArrayType &prediction) const override {
    const int64_t columns = prediction.shape.back();
    const std::string has = "; the prediction has " + std::to_string(columns);
    const auto refuse = [&](const std::string &why) {
      throw Error(Code::invalid, "computing the metric '" + names_[0] + "': it is " + why + has);
    };
    const auto &class_id = options_.class_id, &top_k = options_.top_k, &labels = options_.labels;
    const std::vector<float> &label_weights = options_.label_weights;
    if (class_id && (*class_id < 0 || *class_id >= columns))
      refuse("of the class " + std::to_string(*class_id));
    if (top_k && *top_k > columns) refuse("of the largest " + std::to_string(*top_k));
    if (labels && *labels != columns) refuse("of " + std::to_string(*labels) + " labels");
    if (!label_weights.empty() && label_weights.size() != static_cast<size_t>(columns))
      refuse("of " + std::to_string(label_weights.size()) + " labels with weights");
  }

  bool limits_values() const override { return true; }

  // As in Keras thresholds are those of probabilities.
  void check_values(const Array &truth, const Array &prediction) const override {
    const auto refuse = [&](const char *what, size_t i, const std::string &why) {
      const size_t of_record = prediction.size() / static_cast<size_t>(prediction.shape()[0]);
      throw Error(Code::invalid, "computing the metric '" + names_[0] + "': " + what +
                                     " of record " + std::to_string(i / of_record) + why);
    };
    const auto values = prediction.elements();
    const auto truths = truth.elements();
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(truths[i])) refuse("the label", i, " is NaN");
      if (options_.from_logits || (values[i] >= 0 && values[i] <= most_probable)) continue;
      std::string number;
      append_number(number, static_cast<double>(values[i]));
      refuse("the prediction", i,
             " is " + number +
                 ", and must be from 0 to 1; end the model with a sigmoid or a softmax" +
                 (options_.is_area ? ", or say \"from_logits\": true" : ""));
    }
  }

  void update(const Array &truth, const Array &prediction, const Array &weights) override {
    const auto columns = static_cast<size_t>(prediction.shape().back());
    const size_t of_weight = weights ? prediction.size() / std::max<size_t>(weights.size(), 1) : 1;
    for (size_t row = 0; row < prediction.size(); row += columns) {
      if (options_.top_k)
        largest_.find(prediction.data() + row, columns, static_cast<size_t>(*options_.top_k));
      for (size_t column = 0; column < columns; ++column) {
        if (options_.class_id && static_cast<int64_t>(column) != *options_.class_id) continue;
        const size_t i = row + column;
        const double weight = weights ? static_cast<double>(weights.data()[i / of_weight]) : 1;
        counted_[options_.labels ? column : 0].add(
            seen(prediction.data()[i], column), truth.data()[i] != 0, weight * weight_of(column));
      }
    }
  }

  double result(size_t index) const override { return result_(counted_, index); }
  void reset() override {
    for (Confusion &one : counted_) one.reset();
  }

 private:
  float seen(float prediction, size_t column) const {
    if (options_.top_k && !largest_.has(column)) return left_out;
    return options_.from_logits ? 1 / (1 + std::exp(-prediction)) : prediction;
  }
  // Labels that are counted apart are weighed at the end.
  double weight_of(size_t column) const {
    if (options_.labels || options_.label_weights.empty()) return 1;
    return static_cast<double>(options_.label_weights[column]);
  }

  const std::vector<std::string> names_;
  const Options options_;
  std::vector<Confusion> counted_;
  LargestOfRow largest_;
  const Result result_;
};

// One, or a list of them.
std::vector<float> thresholds_of(Fields &fields, float usual) {
  const Json &given = fields.any("thresholds");
  if (given.is_null()) return {usual};
  std::vector<float> thresholds;
  for (const Json &one : given.is_array() ? given : Json::array({given})) {
    const double threshold = one.is_number() ? one.get<double>() : -1;
    if (!(threshold >= 0 && threshold <= 1))
      throw Error(Code::invalid, "reading " + fields.where() +
                                     ": 'thresholds' must be a number from 0 to 1, or several");
    thresholds.push_back(static_cast<float>(threshold));
  }
  if (thresholds.empty())
    throw Error(Code::invalid, "reading " + fields.where() + ": 'thresholds' has none");
  return thresholds;
}

std::vector<std::string> names_at(const std::string &name, const std::vector<float> &thresholds) {
  if (thresholds.size() == 1) return {name};
  std::vector<std::string> names;
  for (const float threshold : thresholds) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), threshold).ptr;
    names.push_back(name + "_at_" + std::string(text.data(), end));
  }
  return names;
}

using Count = double (*)(const Confusion &counted, size_t threshold);

const std::map<std::string, Count> &counts() {
  static const std::map<std::string, Count> all{
      {"falsenegatives", [](const Confusion &of, size_t at) { return of.false_negatives[at]; }},
      {"falsepositives", [](const Confusion &of, size_t at) { return of.false_positives[at]; }},
      {"precision",
       [](const Confusion &of, size_t at) {
         return part_of_sum(of.true_positives[at], of.false_positives[at]);
       }},
      {"recall",
       [](const Confusion &of, size_t at) {
         return part_of_sum(of.true_positives[at], of.false_negatives[at]);
       }},
      {"truenegatives", [](const Confusion &of, size_t at) { return of.true_negatives[at]; }},
      {"truepositives", [](const Confusion &of, size_t at) { return of.true_positives[at]; }},
  };
  return all;
}

std::unique_ptr<Metric> make_area(const std::string &name, Fields &fields) {
  const AreaUnderCurve area(fields);
  ConfusionMetric::Options options;
  options.thresholds = area.thresholds();
  options.is_area = true;
  options.from_logits = fields.flag("from_logits", false);
  options.labels = area.labels();
  options.label_weights = area.label_weights();
  return std::make_unique<ConfusionMetric>(
      std::vector<std::string>{name}, options,
      [area](const std::vector<Confusion> &counted, size_t) { return area.of(counted); });
}

}  // namespace

std::unique_ptr<Metric> make_confusion_metric(const std::string &folded, const std::string &name,
                                              Fields &fields) {
  if (folded == "auc") return make_area(name, fields);
  const auto known = counts().find(folded);
  if (known == counts().end()) return nullptr;
  ConfusionMetric::Options options;
  if (folded == "precision" || folded == "recall") {
    const auto integer_or_none = [&](const char *key) -> std::optional<int64_t> {
      if (fields.has(key))
        return key == std::string_view("top_k") ? fields.positive_integer(key)
                                                : fields.integer(key);
      fields.only_null(key);
      return {};
    };
    options.top_k = integer_or_none("top_k");
    options.class_id = integer_or_none("class_id");
  }
  options.thresholds = thresholds_of(fields, options.top_k ? left_out : 0.5F);
  const Count count = known->second;
  return std::make_unique<ConfusionMetric>(
      names_at(name, options.thresholds), options,
      [count](const std::vector<Confusion> &counted, size_t at) { return count(counted[0], at); });
}

}  // namespace det::nn
