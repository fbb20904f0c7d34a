#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/cuda/cuda_kernels.h"
#include "wrappers/nn/cuda/gpu_loops.h"
#include "wrappers/nn/cuda/moves.h"

namespace det::nn {

// Numbers in their order: those that say what lies together.

// So many keys, no two of which are the same: their order is one, whoever comes first. Each finds
// its own place, among those of a short run at first, and then in runs of twice the length: n times
// the square of the logarithm of n in all, in as many loops as there are lengths.
class SortedKeys {
 public:
  SortedKeys(CudaContext &context, size_t count) : context_(context), count_(count) {
    for (auto &keys : keys_)
      keys = context.device_memory().allocate(std::max<size_t>(count, 1) * sizeof(uint64_t));
  }

  // Those that key(i) gives, the smallest first, where they lie until the next call.
  template <class Key>
  const uint64_t *run(const Key &key) const {
    auto *from = reinterpret_cast<uint64_t *>(keys_[0].get());
    auto *to = reinterpret_cast<uint64_t *>(keys_[1].get());
    const size_t count = count_;
    for_each(context_, count, [=] DET_DEVICE(size_t i) {
      const uint64_t own = key(i);
      const size_t begin = i / shortest * shortest;
      const size_t end = begin + shortest < count ? begin + shortest : count;
      size_t place = begin;
      for (size_t other = begin; other < end; ++other) place += key(other) < own ? 1 : 0;
      from[place] = own;
    });
    for (size_t length = shortest; length < count; length *= 2, std::swap(from, to))
      for_each(context_, count, [=] DET_DEVICE(size_t i) {
        const uint64_t own = from[i];
        const size_t run = i / length;
        // The run that this one is merged with; it may be shorter than it, or missing.
        const size_t begin = limit((run ^ 1U) * length, count);
        const size_t end = limit(begin + length, count);
        const size_t first = run / 2 * 2 * length;
        to[first + i % length + smaller(from + begin, end - begin, own)] = own;
      });
    return from;
  }

 private:
  static constexpr size_t shortest = 32;

  DET_HOST_DEVICE static size_t limit(size_t i, size_t count) { return i < count ? i : count; }
  // How many of a run are.
  DET_HOST_DEVICE static size_t smaller(const uint64_t *keys, size_t count, uint64_t than) {
    size_t known = 0;
    while (known < count) {
      const size_t middle = (known + count) / 2;
      if (keys[middle] < than) known = middle + 1;
      else count = middle;
    }
    return known;
  }

  const CudaContext &context_;
  const size_t count_;
  std::array<std::shared_ptr<std::byte>, 2> keys_;
};

// Sums of what came back to the rows of a table, wherever they were taken.

// The row of an id, or -1 where there is none.
template <class Id>
DET_HOST_DEVICE int64_t row_of(Id id, int64_t rows) {
  if constexpr (std::is_same_v<Id, float>) {
    if (!(id > -1 && id < static_cast<float>(rows))) return -1;
  } else {
    if (id < 0 || id >= rows) return -1;
  }
  return static_cast<int64_t>(id);
}

// Gives the gradients of places to the rows that were taken there. The places of a row are added up
// in their order, and by whom depends on their number alone: the same bits each time, which atomic
// additions would not give.
class RowGradients {
 public:
  RowGradients(CudaContext &context, size_t places, const Array &table)
      : context_(context),
        places_(places),
        rows_(table.shape()[0]),
        features_(static_cast<size_t>(table.shape()[1])),
        parts_((places + part - 1) / part),
        keys_(context, places) {
    const size_t bytes = std::max<size_t>(parts_ * features_, 1) * sizeof(float);
    carried_ = context.device_memory().allocate(bytes);
  }

  // Rows that nobody took stay as they are.
  template <class Id>
  void run(const Id *ids, const float *dy, float *dtable) const {
    const int64_t rows = rows_;
    // The row, or the number of rows where there is none, and below it the place.
    const uint64_t *keys = keys_.run([=] DET_DEVICE(size_t place) {
      const int64_t row = row_of(ids[place], rows);
      return static_cast<uint64_t>(row < 0 ? rows : row) << 32U | place;
    });
    add_parts(keys, dy, dtable);
    add_carried(keys, dtable);
  }

  // What run() does. nvcc takes no loops of private functions.
  // Of each part: to the row that begins there; of one that began before it, to be carried to it.
  void add_parts(const uint64_t *keys, const float *dy, float *dtable) const {
    const size_t places = places_;
    const auto rows = static_cast<size_t>(rows_);
    const size_t features = features_;
    auto *const carried = reinterpret_cast<float *>(carried_.get());
    for_each_row(context_, parts_, features, [=] DET_DEVICE(const RowGroup &group, size_t number) {
      const size_t begin = number * part;
      const size_t end = begin + part < places ? begin + part : places;
      const bool goes_on = begin > 0 && row_of_key(keys[begin - 1]) == row_of_key(keys[begin]);
      group.each(features, [&](size_t k) {
        float *to = carried + number * features + k;
        float sum = 0;
        for (size_t i = begin; i < end; ++i) {
          const size_t row = row_of_key(keys[i]);
          if (row == rows) break;
          if (i > begin ? row != row_of_key(keys[i - 1]) : !goes_on) {
            if (i > begin) *to = sum;
            to = dtable + row * features + k;
            sum = 0;
          }
          sum += dy[static_cast<uint32_t>(keys[i]) * features + k];
        }
        *to = sum;
      });
    });
  }

  // Each part has one row at most that begins there and goes on in the next.
  void add_carried(const uint64_t *keys, float *dtable) const {
    const size_t parts = parts_;
    const auto rows = static_cast<size_t>(rows_);
    const size_t features = features_;
    const auto *const carried = reinterpret_cast<const float *>(carried_.get());
    for_each_row(context_, parts, features, [=] DET_DEVICE(const RowGroup &group, size_t number) {
      const auto row_at = [&](size_t i) { return row_of_key(keys[i]); };
      const size_t next = number + 1;
      const size_t row = next < parts ? row_at(next * part) : rows;
      if (row == rows || row_at(next * part - 1) != row) return;
      const bool goes_on = number > 0 && row_at(number * part - 1) == row;
      if (goes_on) return;
      group.each(features, [&](size_t k) {
        float sum = dtable[row * features + k];
        for (size_t i = next; i < parts && row_at(i * part) == row; ++i)
          sum += carried[i * features + k];
        dtable[row * features + k] = sum;
      });
    });
  }

 private:
  static constexpr size_t part = 32;  // places that are added up one after another

  DET_HOST_DEVICE static size_t row_of_key(uint64_t key) { return key >> 32U; }

  const CudaContext &context_;
  const size_t places_;
  const int64_t rows_;
  const size_t features_, parts_;
  const SortedKeys keys_;
  std::shared_ptr<std::byte> carried_;  // of each part, for a row that began before it
};

namespace {

// Ids that were fed have been checked. Of one that a layer has computed, and that is no row, the
// features are not numbers.
template <class Id>
void take_rows(const CudaContext &context, const Id *ids, const Array &table, const Array &output) {
  const float *rows = table.data();
  float *y = output.data();
  const int64_t count = table.shape()[0];
  const auto features = static_cast<size_t>(table.shape()[1]);
  for_each(context, output.size(), [=] DET_DEVICE(size_t i) {
    const int64_t row = row_of(ids[i / features], count);
    y[i] = row < 0 ? NAN : rows[static_cast<size_t>(row) * features + i % features];
  });
}

class EmbeddingKernel : public CudaKernel<EmbeddingOp> {
 public:
  EmbeddingKernel(const EmbeddingOp &op, const Operands &operands, const CudaContextPtr &context)
      : CudaKernel(op, operands, context) {
    if (const Array &table = input_gradient(1))
      gradients_.emplace(*context, input(0).size(), table);
  }

  void forward() override {
    if (is_of_integers()) take_rows(*context_, input(0).data<int32_t>(), input(1), output());
    else take_rows(*context_, input(0).data(), input(1), output());
  }

  void backward() override {
    for (size_t i = 0; i < inputs(); ++i)
      if (const Array &gradient = input_gradient(i)) clear(*context_, gradient);
    if (!gradients_) return;
    const float *dy = output_gradient().data();
    float *dtable = input_gradient(1).data();
    if (is_of_integers()) gradients_->run(input(0).data<int32_t>(), dy, dtable);
    else gradients_->run(input(0).data(), dy, dtable);
  }

 private:
  bool is_of_integers() const { return input(0).dtype() == Dtype::i32; }

  std::optional<RowGradients> gradients_;
};

}  // namespace

std::unique_ptr<Kernel> cuda_kernel(const EmbeddingOp &op, const Operands &operands,
                                    const CudaContextPtr &context) {
  if (operands.inputs.at(1).size() == 0) return nullptr;
  // Places and rows are counted in 32 bits.
  if (operands.inputs[0].size() > UINT32_MAX || operands.inputs[1].shape()[0] > UINT32_MAX - 1)
    return nullptr;
  return std::make_unique<EmbeddingKernel>(op, operands, context);
}

}  // namespace det::nn
