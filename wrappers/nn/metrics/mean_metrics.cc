// Metrics that are the mean over records of one number each.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "core/base/error.h"
#include "wrappers/nn/arithmetic/loss_function.h"
#include "wrappers/nn/configuration/keras_fields.h"
#include "wrappers/nn/configuration/named_config.h"
#include "wrappers/nn/losses/named_losses.h"
#include "wrappers/nn/metrics/metric_makers.h"

namespace det::nn {

namespace {

// One row of a batch, that is all there is along the last axis.
struct ComparedRow {
  const float *prediction;
  const float *truth;  // of the same size; null where there is a label
  size_t size;
  int32_t label;
  bool has_binary_truth;  // all labels of the batch are 0 or 1
};

double one_if(bool is_right) { return is_right ? 1 : 0; }

size_t place_of_largest(const float *values, size_t size) {
  return static_cast<size_t>(std::max_element(values, values + size) - values);
}

// Those that are as large as the one of the class count as after it.
bool is_among_largest(const ComparedRow &row, size_t label, int64_t k) {
  if (label >= row.size) return false;
  return std::count_if(row.prediction, row.prediction + row.size,
                       [&](float value) { return value > row.prediction[label]; }) < k;
}

size_t label_of(const ComparedRow &row) {
  return row.truth == nullptr ? static_cast<size_t>(row.label)
                              : place_of_largest(row.truth, row.size);
}

// The part of the elements of a row that are right.
template <class IsRight>
double right_part(const ComparedRow &row, const IsRight &is_right) {
  double right = 0;
  for (size_t i = 0; i < row.size; ++i) right += one_if(is_right(row.prediction[i], row.truth[i]));
  return right / static_cast<double>(row.size);
}

class MeanMetric : public Metric {
 public:
  using Measure = std::function<double(const ComparedRow &row)>;
  using Finish = double (*)(double mean);

  // Rows of the label `ignored` do not count.
  MeanMetric(std::string name, Measure measure, Finish finish = nullptr,
             std::optional<int64_t> ignored = {})
      : name_(std::move(name)), measure_(std::move(measure)), finish_(finish), ignored_(ignored) {}

  std::vector<std::string> names() const override { return {name_}; }
  void update(const Array &truth, const Array &prediction, const Array &weights) override {
    const auto size = static_cast<size_t>(prediction.shape().back());
    const size_t rows = prediction.size() / std::max<size_t>(size, 1);
    const bool has_labels = truth.dtype() == Dtype::i32;
    const float *true_rows = has_labels ? nullptr : truth.data();
    const int32_t *labels = has_labels ? truth.data<int32_t>() : nullptr;
    const bool has_binary = !has_labels && is_binary(true_rows, truth.size());
    const size_t rows_of_weight = weights ? rows / std::max<size_t>(weights.size(), 1) : 1;
    for (size_t row = 0; row < rows; ++row) {
      if (ignored_ && has_labels && labels[row] == *ignored_) continue;
      const double weight = weights ? static_cast<double>(weights.data()[row / rows_of_weight]) : 1;
      const ComparedRow compared{prediction.data() + row * size,
                                 has_labels ? nullptr : true_rows + row * size, size,
                                 has_labels ? labels[row] : 0, has_binary};
      sum_ += weight * measure_(compared);
      count_ += weight;
    }
  }
  double result(size_t) const override {
    const double mean = count_ == 0 ? 0 : sum_ / count_;
    return finish_ == nullptr ? mean : finish_(mean);
  }
  void reset() override { sum_ = count_ = 0; }

 private:
  const std::string name_;
  const Measure measure_;
  const Finish finish_;
  const std::optional<int64_t> ignored_;
  double sum_ = 0;
  double count_ = 0;
};

}  // namespace

std::unique_ptr<Metric> make_accuracy(const std::string &folded, const std::string &name,
                                      Fields &fields) {
  MeanMetric::Measure measure;
  if (folded == "binaryaccuracy") {
    const auto threshold = static_cast<float>(fields.number("threshold", 0.5));
    measure = [threshold](const ComparedRow &row) {
      return right_part(row, [&](float p, float y) { return (p > threshold ? 1 : 0) == y; });
    };
  } else if (folded == "accuracy") {
    measure = [](const ComparedRow &row) {
      return right_part(row, [](float p, float y) { return p == y; });
    };
  } else if (folded == "categoricalaccuracy" || folded == "sparsecategoricalaccuracy") {
    measure = [](const ComparedRow &row) {
      return one_if(place_of_largest(row.prediction, row.size) == label_of(row));
    };
  } else if (folded == "topkcategoricalaccuracy" || folded == "sparsetopkcategoricalaccuracy") {
    const int64_t k = fields.integer("k", 5);
    measure = [k](const ComparedRow &row) {
      return one_if(is_among_largest(row, label_of(row), k));
    };
  } else {
    return nullptr;
  }
  return std::make_unique<MeanMetric>(name, std::move(measure));
}

std::unique_ptr<Metric> make_mean_of_losses(const std::string &given, const std::string &name,
                                            Fields &fields) {
  const std::string folded = folded_name(given);
  if (is_sparse_crossentropy(given)) {
    const bool from_logits = fields.flag("from_logits", false);
    std::optional<int64_t> ignored;
    if (fields.has("ignore_class")) ignored = fields.integer("ignore_class");
    else fields.any("ignore_class");
    fields.only("axis", -1);
    return std::make_unique<MeanMetric>(
        name,
        [from_logits](const ComparedRow &row) {
          const auto label = static_cast<size_t>(row.label);
          return label < row.size
                     ? sparse_crossentropy(row.prediction, row.size, label, from_logits)
                     : std::nan("");
        },
        nullptr, ignored);
  }
  const bool is_root = folded == "rootmeansquarederror";
  const NamedLoss *loss = find_loss(is_root ? "mse" : given);
  if (loss == nullptr) return nullptr;
  const LossFunction function = read_loss_function(*loss, fields);
  if (has_axis(function.kind)) fields.only("axis", -1);
  const double sign = function.kind == LossKind::cosine_similarity ? -1 : 1;
  return std::make_unique<MeanMetric>(
      name,
      [function, sign](const ComparedRow &row) {
        LossFunction now = function;
        now.has_binary_truth = row.has_binary_truth;
        return sign * now.value(row.prediction, row.truth, row.size);
      },
      is_root ? static_cast<MeanMetric::Finish>([](double mean) { return std::sqrt(mean); })
              : nullptr);
}

}  // namespace det::nn
