#include "wrappers/nn/metrics/confusion_metrics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/metrics/area_under_curve.h"

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

double part_of_sum(double part, double rest) { return part + rest == 0 ? 0 : part / (part + rest); }

class ConfusionMetric : public Metric {
 public:
  using Result = std::function<double(const Confusion &counted)>;

  struct Options {
    std::vector<float> thresholds;
    std::optional<int64_t> class_id;  // only that column of the predictions
    bool from_logits = false;
  };

  ConfusionMetric(std::string name, const Options &options, Result result)
      : name_(std::move(name)),
        class_id_(options.class_id),
        from_logits_(options.from_logits),
        counted_(options.thresholds),
        result_(std::move(result)) {}

  std::string name() const override { return name_; }

  void check(const ArrayType &prediction) const override {
    if (class_id_ && (*class_id_ < 0 || *class_id_ >= prediction.shape.back()))
      throw Error(Code::invalid, "compiling a model: the metric '" + name_ + "' is of the class " +
                                     std::to_string(*class_id_) + "; the prediction has " +
                                     std::to_string(prediction.shape.back()));
  }

  void update(const Array &truth, const Array &prediction, const Array &weights) override {
    const int64_t columns = prediction.shape().back();
    const size_t of_weight = weights ? prediction.size() / std::max<size_t>(weights.size(), 1) : 1;
    for (size_t i = 0; i < prediction.size(); ++i) {
      if (class_id_ && static_cast<int64_t>(i) % columns != *class_id_) continue;
      const float given = prediction.data()[i];
      const double weight = weights ? static_cast<double>(weights.data()[i / of_weight]) : 1;
      counted_.add(from_logits_ ? 1 / (1 + std::exp(-given)) : given, truth.data()[i] != 0, weight);
    }
  }

  double result() const override { return result_(counted_); }
  void reset() override { counted_.reset(); }

 private:
  const std::string name_;
  const std::optional<int64_t> class_id_;
  const bool from_logits_;
  Confusion counted_;
  const Result result_;
};

// A single threshold, or a list of one.
ConfusionMetric::Options read_options(Fields &fields) {
  ConfusionMetric::Options options;
  const Json &given = fields.any("thresholds");
  if (given.is_array() && given.size() > 1)
    throw Error(Code::unsupported, "reading " + fields.where() +
                                       ": several thresholds are not supported; make a metric of "
                                       "each");
  double threshold = 0.5;
  if (given.is_array() && given.size() == 1 && given[0].is_number()) threshold = given[0];
  else if (given.is_number()) threshold = given;
  else if (!given.is_null())
    throw Error(Code::invalid, "reading " + fields.where() + ": 'thresholds' must be a number");
  options.thresholds = {static_cast<float>(threshold)};
  return options;
}

using Count = double (*)(const Confusion &counted);

const std::map<std::string, Count> &counts() {
  static const std::map<std::string, Count> all{
      {"falsenegatives", [](const Confusion &of) { return of.false_negatives[0]; }},
      {"falsepositives", [](const Confusion &of) { return of.false_positives[0]; }},
      {"precision",
       [](const Confusion &of) {
         return part_of_sum(of.true_positives[0], of.false_positives[0]);
       }},
      {"recall",
       [](const Confusion &of) {
         return part_of_sum(of.true_positives[0], of.false_negatives[0]);
       }},
      {"truenegatives", [](const Confusion &of) { return of.true_negatives[0]; }},
      {"truepositives", [](const Confusion &of) { return of.true_positives[0]; }},
  };
  return all;
}

}  // namespace

std::unique_ptr<Metric> make_confusion_metric(const std::string &folded, const std::string &name,
                                              Fields &fields) {
  if (folded == "auc") {
    const AreaUnderCurve area(fields);
    return std::make_unique<ConfusionMetric>(
        name, ConfusionMetric::Options{area.thresholds(), {}, fields.flag("from_logits", false)},
        [area](const Confusion &counted) { return area.of(counted); });
  }
  const auto known = counts().find(folded);
  if (known == counts().end()) return nullptr;
  ConfusionMetric::Options options = read_options(fields);
  if (folded == "precision" || folded == "recall") {
    fields.only_null("top_k");
    if (fields.has("class_id")) options.class_id = fields.integer("class_id");
    else fields.only_null("class_id");
  }
  return std::make_unique<ConfusionMetric>(name, options, known->second);
}

}  // namespace det::nn
