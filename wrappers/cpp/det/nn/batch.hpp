// Batches: records side by side, for models and from datasets.
#pragma once

#include <det/nn.h>
#include <det/nn/array.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

namespace det {
inline namespace v1 {
namespace nn {

namespace detail {

// Descriptions in C of arrays, which must not move. A few of them take no heap memory.
class LentTensors {
 public:
  explicit LentTensors(const std::vector<Array> &arrays) : count_(arrays.size()) {
    if (count_ > few_.size()) many_.resize(count_);
    for (size_t i = 0; i < count_; ++i) (many_.empty() ? few_[i] : many_[i]) = arrays[i].capi();
  }
  [[nodiscard]] const det_tensor *data() const {
    return many_.empty() ? few_.data() : many_.data();
  }
  [[nodiscard]] size_t size() const { return count_; }

 private:
  size_t count_;
  std::array<det_tensor, 4> few_{};
  std::vector<det_tensor> many_;
};

}  // namespace detail

// In the order of the model's inputs and results. A copy shares its numbers.
struct Batch {
  std::vector<Array> inputs;
  std::vector<Array> truths = {};
  std::vector<Array> sample_weights = {};     // none, or one for each result
  std::vector<std::string> input_names = {};  // none, or one for each input
  std::vector<double> class_weights = {};     // none, or one for each class, as in det_nn_batch

  // Features in the order of their names. An input without a name has the name "".
  [[nodiscard]] static Batch of(const std::map<std::string, Array> &features, Array labels = {},
                                Array sample_weights = {}) {
    Batch batch;
    for (const auto &[name, values] : features) {
      batch.inputs.push_back(values);
      batch.input_names.push_back(name);
    }
    if (labels) batch.truths.push_back(std::move(labels));
    if (sample_weights) batch.sample_weights.push_back(std::move(sample_weights));
    return batch;
  }

  [[nodiscard]] int64_t records() const { return inputs.empty() ? 0 : inputs[0].records(); }

  // Throws std::out_of_range for an unknown name.
  [[nodiscard]] const Array &feature(const std::string &name) const {
    if (input_names.empty() && inputs.size() == 1 && name.empty()) return inputs[0];
    const auto found = std::find(input_names.begin(), input_names.end(), name);
    if (found != input_names.end()) return inputs[static_cast<size_t>(found - input_names.begin())];
    std::string known;
    for (const std::string &one : input_names) known += (known.empty() ? "'" : ", '") + one + "'";
    throw std::out_of_range("reading a batch: it has no feature '" + name + "'; it has " +
                            (known.empty() ? "none with a name" : known));
  }
  // The inputs by their names. A single input without a name has the name "".
  [[nodiscard]] std::map<std::string, Array> features() const {
    if (input_names.empty() && inputs.size() == 1) return {{"", inputs[0]}};
    if (input_names.size() != inputs.size())
      throw std::out_of_range("reading a batch: it has " + std::to_string(inputs.size()) +
                              " inputs, and names for " + std::to_string(input_names.size()));
    std::map<std::string, Array> features;
    for (size_t i = 0; i < inputs.size(); ++i) features.emplace(input_names[i], inputs[i]);
    return features;
  }

  // Records from `begin` to `end` - 1, as views.
  [[nodiscard]] Batch rows(int64_t begin, int64_t end) const {
    const auto parts = [&](const std::vector<Array> &arrays) {
      std::vector<Array> taken;
      taken.reserve(arrays.size());
      for (const Array &array : arrays) taken.push_back(array.rows(begin, end));
      return taken;
    };
    return {parts(inputs), parts(truths), parts(sample_weights), input_names, class_weights};
  }
};

namespace detail {

// The description in C of a batch, whose arrays must not move.
class LentBatch {
 public:
  explicit LentBatch(const Batch &batch)
      : inputs_(batch.inputs), truths_(batch.truths), weights_(batch.sample_weights) {
    if (weights_.size() > 0 && weights_.size() != truths_.size())
      throw std::invalid_argument(
          "giving a model a batch: it has " + std::to_string(truths_.size()) +
          " arrays to compare with, and weights for " + std::to_string(weights_.size()));
    given_.inputs = inputs_.data();
    given_.input_count = inputs_.size();
    given_.truths = truths_.data();
    given_.result_count = truths_.size();
    if (weights_.size() > 0) given_.sample_weights = weights_.data();
    given_.class_weights = batch.class_weights.data();
    given_.class_count = batch.class_weights.size();
    if (batch.input_names.empty() || batch.input_names.size() != inputs_.size()) return;
    names_.reserve(inputs_.size());
    for (const std::string &name : batch.input_names) names_.push_back(name.c_str());
    given_.input_names = names_.data();
  }
  LentBatch(const LentBatch &) = delete;
  LentBatch &operator=(const LentBatch &) = delete;

  [[nodiscard]] const det_nn_batch &capi() const { return given_; }

 private:
  LentTensors inputs_, truths_, weights_;
  std::vector<const char *> names_;
  det_nn_batch given_ = DET_NN_BATCH_INIT;
};

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det
