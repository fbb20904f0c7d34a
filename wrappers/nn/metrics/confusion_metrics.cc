// Metrics of how many are right and wrong, of those that are so and that are not, at thresholds.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/metrics/metric_makers.h"

namespace det::nn {

namespace {

// At each of some thresholds, the sums of the weights of what is predicted to be above it
// (positive) or not, and is so (true) or not.
struct Confusion {
  std::vector<float> thresholds;
  std::vector<double> true_positives, false_positives, true_negatives, false_negatives;

  explicit Confusion(std::vector<float> at) : thresholds(std::move(at)) { reset(); }
  void reset() {
    for (auto *sums : {&true_positives, &false_positives, &true_negatives, &false_negatives})
      sums->assign(thresholds.size(), 0);
  }
  void add(float prediction, bool is_so, double weight) {
    for (size_t i = 0; i < thresholds.size(); ++i) {
      if (prediction > thresholds[i]) (is_so ? true_positives : false_positives)[i] += weight;
      else (is_so ? false_negatives : true_negatives)[i] += weight;
    }
  }
};

// The largest elements of a row, of which the first ones are taken where several are alike.
class LargestOfRow {
 public:
  // Takes memory for the first row of so many columns alone. `count` is not above that.
  void find(const float *row, size_t columns, size_t count) {
    order_.resize(columns);
    is_among_.assign(columns, 0);
    std::iota(order_.begin(), order_.end(), size_t{0});
    const auto end = order_.begin() + static_cast<std::ptrdiff_t>(count);
    // What is no number is the smallest: an order has to be one.
    const auto at_place = [row](size_t place) {
      return std::isnan(row[place]) ? -std::numeric_limits<float>::infinity() : row[place];
    };
    std::partial_sort(order_.begin(), end, order_.end(), [&](size_t one, size_t other) {
      return at_place(one) > at_place(other) || (at_place(one) == at_place(other) && one < other);
    });
    for (auto at = order_.begin(); at != end; ++at) is_among_[*at] = 1;
  }
  bool has(size_t column) const { return is_among_[column] != 0; }

 private:
  std::vector<size_t> order_;
  std::vector<uint8_t> is_among_;
};

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

// The area under the curve of rates (ROC), or of precision over recall (PR).
class AreaUnderCurve {
 public:
  // The options of Keras' AUC. Throws Code::invalid, Code::unsupported.
  explicit AreaUnderCurve(Fields &fields) : count_(fields.integer("num_thresholds", 200)) {
    const std::string curve = fields.text("curve", "ROC");
    const std::string between = fields.text("summation_method", "interpolation");
    is_precision_ = curve == "PR";
    if (between == "minoring") between_ = Between::minoring;
    else if (between == "majoring") between_ = Between::majoring;
    const bool is_known = (is_precision_ || curve == "ROC") &&
                          (between_ != Between::interpolation || between == "interpolation");
    if (!is_known || count_ < 2 || count_ > most_thresholds)
      throw Error(Code::invalid,
                  "reading " + fields.where() +
                      ": 'curve' is ROC or PR, 'summation_method' interpolation, "
                      "minoring or majoring, and 'num_thresholds' from 2 to 1000000");
    given_ = numbers_of(fields, "thresholds");
    std::sort(given_.begin(), given_.end());
    if (!given_.empty() && (!(given_.front() >= 0) || !(given_.back() <= 1)))
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": 'thresholds' must be from 0 to 1");
    label_weights_ = numbers_of(fields, "label_weights");
    if (std::any_of(label_weights_.begin(), label_weights_.end(),
                    [](float w) { return !(w >= 0); }))
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
                                     " labels are too many to count at this number of thresholds");
  }

  // Those that were given, or evenly from 0 to 1; the ends lie a little beyond them.
  std::vector<float> thresholds() const {
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
  // How many are counted apart, whose areas are averaged; none where all are counted together.
  std::optional<int64_t> labels() const { return labels_; }
  // How much each label counts; empty where all count alike.
  const std::vector<float> &label_weights() const { return label_weights_; }
  double of(const std::vector<Confusion> &counted) const {
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

 private:
  double of_one(const Confusion &counted) const {
    if (is_precision_ && between_ == Between::interpolation) return under_precision(counted);
    const auto point = [&](size_t i) {
      const double recall = quotient(counted.true_positives[i],
                                     counted.true_positives[i] + counted.false_negatives[i]);
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
  enum class Between { interpolation, minoring, majoring };
  // Between two points the true positives grow evenly with all positives, which makes the precision
  // a curve (Davis and Goadrich, 2006).
  double under_precision(const Confusion &counted) const {
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

  int64_t count_;
  bool is_precision_;
  Between between_ = Between::interpolation;
  std::optional<int64_t> labels_;
  std::vector<float> given_, label_weights_;
};

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
