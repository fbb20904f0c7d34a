// F1Score and FBetaScore: precision and recall of each class in one number.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/metrics/metric_makers.h"

namespace det::nn {

namespace {

class FScore : public Metric {
 public:
  enum class Average { none, micro, macro, weighted };

  struct Options {
    double beta = 1;
    Average average = Average::none;
    std::optional<float> threshold;  // none: the largest of a row is what it is predicted to be
    size_t classes = 0;
  };

  FScore(std::string name, const Options &options)
      : name_(std::move(name)), options_(options), counts_(options.classes) {}

  // Without an average one for each class.
  std::vector<std::string> names() const override {
    if (options_.average != Average::none) return {name_};
    std::vector<std::string> names;
    for (size_t i = 0; i < options_.classes; ++i) names.push_back(name_ + "_" + std::to_string(i));
    return names;
  }

  void check(const ArrayType &, const ArrayType &prediction) const override {
    if (prediction.shape.size() != 2)
      throw Error(Code::invalid, "computing the metric '" + name_ +
                                     "': it takes a row of classes for each record, and the "
                                     "prediction is " +
                                     text_of(prediction.shape));
  }

  void update(const Array &truth, const Array &prediction, const Array &weights) override {
    const size_t classes = options_.classes;
    for (size_t row = 0; row < prediction.size() / classes; ++row) {
      const float *seems = prediction.data() + row * classes;
      const float largest = *std::max_element(seems, seems + classes);
      const double weight = weights ? static_cast<double>(weights.data()[row]) : 1;
      for (size_t c = 0; c < classes; ++c) {
        const auto is = static_cast<double>(truth.data()[row * classes + c]);
        const bool counts = options_.threshold ? seems[c] > *options_.threshold
                                               : seems[c] >= largest && std::abs(seems[c]) > 1e-12F;
        Counts &sums = counts_[options_.average == Average::micro ? 0 : c];
        (counts ? sums.true_positives : sums.false_negatives) += weight * is;
        if (counts) sums.false_positives += weight * (1 - is);
      }
    }
  }

  double result(size_t index) const override {
    if (options_.average == Average::none) return score(counts_[index]);
    if (options_.average == Average::micro) return score(counts_[0]);
    double sum = 0, all = 0;
    for (const Counts &one : counts_) {
      const bool is_weighted = options_.average == Average::weighted;
      const double weight = is_weighted ? one.true_positives + one.false_negatives : 1;
      sum += weight * score(one);
      all += weight;
    }
    return part(sum, all);
  }

  void reset() override { std::fill(counts_.begin(), counts_.end(), Counts{}); }

 private:
  struct Counts {
    double true_positives = 0, false_positives = 0, false_negatives = 0;
  };

  static double part(double of, double whole) { return whole == 0 ? 0 : of / whole; }

  double score(const Counts &of) const {
    const double precision = part(of.true_positives, of.true_positives + of.false_positives);
    const double recall = part(of.true_positives, of.true_positives + of.false_negatives);
    const double squared = options_.beta * options_.beta;
    return part(precision * recall, squared * precision + recall) * (1 + squared);
  }

  const std::string name_;
  const Options options_;
  std::vector<Counts> counts_;  // by class
};

FScore::Average read_average(Fields &fields) {
  const Json &given = fields.any("average");
  if (given.is_null()) return FScore::Average::none;
  if (given == "micro") return FScore::Average::micro;
  if (given == "macro") return FScore::Average::macro;
  if (given == "weighted") return FScore::Average::weighted;
  throw Error(Code::invalid, "reading " + fields.where() +
                                 ": 'average' must be null, \"micro\", \"macro\" or \"weighted\"");
}

}  // namespace

std::unique_ptr<Metric> make_f_score(const std::string &folded, const std::string &name,
                                     Fields &fields, const ArrayType &prediction) {
  if (folded != "f1score" && folded != "fbetascore") return nullptr;
  FScore::Options options;
  options.average = read_average(fields);
  if (folded == "fbetascore") options.beta = fields.number("beta", 1);
  if (options.beta <= 0)
    throw Error(Code::invalid, "reading " + fields.where() + ": 'beta' must be above 0");
  if (const auto threshold = fields.number_or_none("threshold")) {
    if (*threshold <= 0 || *threshold > 1)
      throw Error(Code::invalid,
                  "reading " + fields.where() + ": 'threshold' must be above 0, and at most 1");
    options.threshold = static_cast<float>(*threshold);
  }
  if (!prediction.shape.empty())
    options.classes = static_cast<size_t>(std::max<int64_t>(prediction.shape.back(), 0));
  return std::make_unique<FScore>(name, options);
}

}  // namespace det::nn
