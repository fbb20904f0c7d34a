// Sums of what came back to the rows of a table, wherever they were taken.
#pragma once

#include <type_traits>

#include "wrappers/nn/array.h"
#include "wrappers/nn/cuda/sorted_keys.h"

namespace det::nn {

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

}  // namespace det::nn
