// Means over the records of an evaluation.
#pragma once

#include <det/estimator/feature_column.hpp>
#include <det/estimator/spec.hpp>

#include <algorithm>

namespace det {
inline namespace v1 {
namespace estimator {
namespace detail {

// The part of a batch in a mean: a sum, and the total weight of its records.
struct Share {
  double sum = 0, weight = 0;
};
using ShareOf = std::function<Share(const RunValues &)>;

class MeanMetric : public Metric {
 public:
  using Finish = double (*)(double mean);

  explicit MeanMetric(ShareOf share_of, Finish finish = nullptr)
      : share_of_(std::move(share_of)), finish_(finish) {}

  void update(const RunValues &values) override {
    const Share share = share_of_(values);
    total_.sum += share.sum;
    total_.weight += share.weight;
  }
  [[nodiscard]] nlohmann::ordered_json result(const DistributedView & /*job*/) const override {
    const double mean = total_.weight == 0 ? 0 : total_.sum / total_.weight;
    return finish_ == nullptr ? mean : finish_(mean);
  }

 private:
  ShareOf share_of_;
  Finish finish_;
  Share total_;
};

// For the same count of numbers of each record, each with the weight of its record.
[[nodiscard]] inline Share share_of(const nn::Batch &batch, const std::vector<double> &numbers) {
  const bool is_weighted = !batch.sample_weights.empty();
  const std::vector<double> weights =
      is_weighted ? numbers_of<double>("sample weights", batch.sample_weights[0])
                  : std::vector<double>();
  const auto records = static_cast<size_t>(batch.records());
  Share share;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const size_t record = i * records / numbers.size();
    const double weight = is_weighted ? weights.at(record) : 1;
    share.sum += weight * numbers[i];
    share.weight += weight;
  }
  return share;
}

[[nodiscard]] inline Share labels_of(const RunValues &values) {
  const nn::Batch &batch = values.batch();
  return share_of(batch, numbers_of<double>("labels", batch.truths.at(0)));
}
// For a loss that is a sum over the records, or that sum divided by their number.
[[nodiscard]] inline Share loss_of(const RunValues &values, bool is_sum) {
  const auto records = static_cast<size_t>(values.batch().records());
  const std::vector<double> ones(records, 1);
  return {values.loss() * (is_sum ? 1 : static_cast<double>(records)),
          share_of(values.batch(), ones).weight};
}

// For the records whose largest logit is that of their class.
[[nodiscard]] inline Share right_of(const RunValues &values) {
  const std::vector<double> labels = numbers_of<double>("labels", values.batch().truths.at(0));
  const Tensor logits = values.prediction("logits");
  const auto *first = static_cast<const float *>(logits.data);
  const int64_t classes = logits.shape.back();
  std::vector<double> right;
  for (const double label : labels) {
    const auto largest = static_cast<double>(std::max_element(first, first + classes) - first);
    right.push_back(largest == label ? 1 : 0);
    first += classes;
  }
  return share_of(values.batch(), right);
}

[[nodiscard]] inline std::shared_ptr<Metric> mean_of(ShareOf share_of,
                                                     MeanMetric::Finish finish = nullptr) {
  return std::make_shared<MeanMetric>(std::move(share_of), finish);
}
[[nodiscard]] inline std::shared_ptr<Metric> mean_of_prediction(const std::string &name) {
  return mean_of([name](const RunValues &values) {
    const Tensor tensor = values.prediction(name);
    const auto *first = static_cast<const float *>(tensor.data);
    return share_of(values.batch(), std::vector<double>(first, first + tensor.elements()));
  });
}

}  // namespace detail
}  // namespace estimator
}  // namespace v1
}  // namespace det
