// Your own metrics, over the batches of an evaluation and all ranks. Follows
// estimator.MetricReducer and make_metric().
#pragma once

#include <det/estimator/spec.hpp>

namespace det {
inline namespace v1 {
namespace estimator {

// Derive from it. Make a new one in each call of a model_fn, because it is not reset.
class MetricReducer {
 public:
  virtual ~MetricReducer() = default;
  // Called for each batch of this rank. The last result is that of the rank.
  virtual nlohmann::ordered_json accumulate(const RunValues &values) = 0;
  // Called on each rank with the results of all ranks, in their order. Each rank has had a batch.
  virtual nlohmann::ordered_json cross_slot_reduce(
      const std::vector<nlohmann::ordered_json> &per_slot_metrics) = 0;
};

using ValueOfBatch = std::function<nlohmann::ordered_json(const RunValues &)>;
using ReduceBatches =
    std::function<nlohmann::ordered_json(const std::vector<nlohmann::ordered_json> &)>;

namespace detail {

class ReducedMetric : public Metric {
 public:
  explicit ReducedMetric(std::shared_ptr<MetricReducer> reducer) : reducer_(std::move(reducer)) {
    if (reducer_ == nullptr) throw std::invalid_argument("making a metric: its reducer is null");
  }

  void update(const RunValues &values) override { last_ = reducer_->accumulate(values); }
  [[nodiscard]] nlohmann::ordered_json result(const DistributedView &job) const override {
    // Bytes, which keep numbers of every kind exact.
    const std::vector<uint8_t> mine = nlohmann::ordered_json::to_cbor(last_);
    std::vector<nlohmann::ordered_json> each;
    for (const std::string_view one :
         job.allgather({reinterpret_cast<const char *>(mine.data()), mine.size()}))
      each.push_back(nlohmann::ordered_json::from_cbor(one));
    return reducer_->cross_slot_reduce(each);
  }

 private:
  std::shared_ptr<MetricReducer> reducer_;
  nlohmann::ordered_json last_;
};

// Keeps a value of each batch for a function.
class CollectingReducer : public MetricReducer {
 public:
  CollectingReducer(ValueOfBatch value, ReduceBatches reduce)
      : value_(std::move(value)), reduce_(std::move(reduce)) {
    if (!value_ || !reduce_)
      throw std::invalid_argument("making a metric: it has two functions, and one is missing");
  }

  nlohmann::ordered_json accumulate(const RunValues &values) override {
    all_.push_back(value_(values));
    return all_;
  }
  nlohmann::ordered_json cross_slot_reduce(
      const std::vector<nlohmann::ordered_json> &per_slot_metrics) override {
    std::vector<nlohmann::ordered_json> batches;
    for (const nlohmann::ordered_json &of_rank : per_slot_metrics)
      batches.insert(batches.end(), of_rank.begin(), of_rank.end());
    return reduce_(batches);
  }

 private:
  ValueOfBatch value_;
  ReduceBatches reduce_;
  nlohmann::ordered_json all_ = nlohmann::ordered_json::array();
};

}  // namespace detail

// A metric over the batches of all ranks, for EstimatorSpec::metrics.
[[nodiscard]] inline std::shared_ptr<Metric> make_metric(std::shared_ptr<MetricReducer> reducer) {
  return std::make_shared<detail::ReducedMetric>(std::move(reducer));
}
// `reduce` gets the results of `value` for all batches, those of rank 0 first.
[[nodiscard]] inline std::shared_ptr<Metric> make_metric(ValueOfBatch value, ReduceBatches reduce) {
  return make_metric(
      std::make_shared<detail::CollectingReducer>(std::move(value), std::move(reduce)));
}

}  // namespace estimator
}  // namespace v1
}  // namespace det
