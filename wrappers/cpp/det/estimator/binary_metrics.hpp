// Counts records of two classes, over an evaluation with the weights of the records.
#pragma once

#include <det/estimator/means.hpp>

#include <array>
#include <cmath>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

// The records of both classes whose probability is above each threshold.
class BinaryCounts {
 public:
  static constexpr size_t thresholds = 200;  // areas are summed between them

  // `probabilities` are of the second class, one for each record.
  void add(const nn::Batch &batch, const float *probabilities) {
    const std::vector<double> labels = numbers_of<double>("labels", batch.truths.at(0));
    const std::vector<double> weights =
        batch.sample_weights.empty() ? std::vector<double>(labels.size(), 1)
                                     : numbers_of<double>("weights", batch.sample_weights[0]);
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool is_second = labels[i] == 1;
      (is_second ? second_ : first_) += weights.at(i);
      for (size_t t = 0; t < thresholds && probabilities[i] > threshold(t); ++t)
        (is_second ? second_above_ : first_above_)[t] += weights[i];
    }
  }

  // The area under the rate of the second class by the rate of the first, over the thresholds.
  [[nodiscard]] double area_under_roc() const {
    double area = 0;
    for (size_t t = 0; t + 1 < thresholds; ++t)
      area += (share(first_above_[t], first_) - share(first_above_[t + 1], first_)) *
              (share(second_above_[t], second_) + share(second_above_[t + 1], second_)) / 2;
    return area;
  }
  // The area under precision by recall. Between thresholds both counts are lines. See Davis and
  // Goadrich, The relationship between precision-recall and ROC curves.
  [[nodiscard]] double area_under_precision_recall() const {
    double area = 0;
    for (size_t t = 0; t + 1 < thresholds; ++t) {
      const double above = second_above_[t] + first_above_[t];
      const double above_next = second_above_[t + 1] + first_above_[t + 1];
      const double gained = second_above_[t] - second_above_[t + 1];
      const double slope = share(gained, std::max(above - above_next, 0.0));
      const double intercept = second_above_[t + 1] - slope * above_next;
      const double ratio = above > 0 && above_next > 0 ? above / above_next : 1;
      area += share(slope * (gained + intercept * std::log(ratio)), second_);
    }
    return area;
  }

 private:
  [[nodiscard]] static double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
  }
  // From just below 0 to just above 1.
  [[nodiscard]] static float threshold(size_t t) {
    if (t == 0) return -1e-7F;
    return t + 1 == thresholds ? 1 + 1e-7F
                               : static_cast<float>(t) / static_cast<float>(thresholds - 1);
  }

  double first_ = 0, second_ = 0;
  std::array<double, thresholds> first_above_ = {}, second_above_ = {};
};

class AreaMetric : public Metric {
 public:
  using Area = double (BinaryCounts::*)() const;

  AreaMetric(std::string probability, Area area)
      : probability_(std::move(probability)), area_(area) {}

  void update(const RunValues &values) override {
    const Tensor probabilities = values.prediction(probability_);
    counts_.add(values.batch(), static_cast<const float *>(probabilities.data));
  }
  [[nodiscard]] nlohmann::ordered_json result(const DistributedView & /*job*/) const override {
    return (counts_.*area_)();
  }

 private:
  std::string probability_;
  Area area_;
  BinaryCounts counts_;
};

// The share of records for which `is_right`, of those for which `counts`. Both functions get two
// flags. The first is true for a record of the second class, the other for one that was taken for
// it.
template <class Counts, class IsRight>
[[nodiscard]] std::shared_ptr<Metric> part_of_records(const std::string &logits, Counts counts,
                                                      IsRight is_right) {
  return mean_of([=](const RunValues &values) {
    const nn::Batch &batch = values.batch();
    const std::vector<double> labels = numbers_of<double>("labels", batch.truths.at(0));
    const auto *logit = static_cast<const float *>(values.prediction(logits).data);
    std::vector<double> counted(labels.size()), right(labels.size());
    for (size_t i = 0; i < labels.size(); ++i) {
      const bool is_second = labels[i] == 1, is_taken = logit[i] > 0;
      counted[i] = counts(is_second, is_taken) ? 1 : 0;
      right[i] = counted[i] > 0 && is_right(is_second, is_taken) ? 1 : 0;
    }
    return Share{share_of(batch, right).sum, share_of(batch, counted).sum};
  });
}

}  // namespace detail
}  // namespace estimator
}  // namespace v1
}  // namespace det
