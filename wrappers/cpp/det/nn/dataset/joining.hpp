// Checks batches, and joins them.
#pragma once

#include <det/nn/batch.hpp>

#include <functional>

namespace det {
inline namespace v1 {
namespace nn {
namespace detail {

inline constexpr std::vector<Array> Batch::*batch_parts[] = {&Batch::inputs, &Batch::truths,
                                                             &Batch::sample_weights};

// Such as "the input 'x'" and "the label 0".
[[nodiscard]] inline std::string part_name(const Batch &batch, std::vector<Array> Batch::*part,
                                           size_t index) {
  if (part == &Batch::inputs && index < batch.input_names.size() &&
      !batch.input_names[index].empty())
    return "the input '" + batch.input_names[index] + "'";
  const char *const kind = part == &Batch::inputs   ? "the input "
                           : part == &Batch::truths ? "the label "
                                                    : "the sample weight ";
  return kind + std::to_string(index);
}

// The form of a record, such as "F32 (28, 28)".
[[nodiscard]] inline std::string record_text(const Array &array) {
  std::string sizes;
  for (size_t i = 1; i < array.shape().size(); ++i)
    sizes += (i > 1 ? ", " : "") + std::to_string(array.shape()[i]);
  return std::string(dtype_name(array.dtype())) + " (" + sizes + ")";
}

// Throws std::invalid_argument for a batch without arrays, and for arrays of different lengths. The
// message begins with `doing`.
inline void check_records(const Batch &batch, const std::string &doing) {
  if (batch.inputs.empty()) throw std::invalid_argument(doing + ": there are no inputs");
  if (!batch.input_names.empty() && batch.input_names.size() != batch.inputs.size())
    throw std::invalid_argument(doing + ": there are " + std::to_string(batch.inputs.size()) +
                                " inputs, and names for " +
                                std::to_string(batch.input_names.size()));
  for (const auto part : batch_parts)
    for (size_t i = 0; i < (batch.*part).size(); ++i)
      if ((batch.*part)[i].records() != batch.records())
        throw std::invalid_argument(doing + ": " + part_name(batch, part, i) + " has " +
                                    std::to_string((batch.*part)[i].records()) + " records, " +
                                    part_name(batch, &Batch::inputs, 0) + " " +
                                    std::to_string(batch.records()));
  if (batch.records() == 0) throw std::invalid_argument(doing + ": there are no records");
}

// Throws if the records of `batch` do not fit beside those of `before`.
inline void check_same_form(const Batch &before, const Batch &batch, const std::string &doing) {
  if (before.input_names != batch.input_names)
    throw std::invalid_argument(doing + ": its inputs have other names than those before");
  for (const auto part : batch_parts) {
    const std::vector<Array> &theirs = before.*part, &ours = batch.*part;
    if (theirs.size() != ours.size())
      throw std::invalid_argument(doing + ": it has " + std::to_string(ours.size()) +
                                  (part == &Batch::inputs   ? " inputs"
                                   : part == &Batch::truths ? " labels"
                                                            : " sample weights") +
                                  ", those before " + std::to_string(theirs.size()));
    for (size_t i = 0; i < ours.size(); ++i)
      if (ours[i].dtype() != theirs[i].dtype() ||
          !std::equal(ours[i].shape().begin() + 1, ours[i].shape().end(),
                      theirs[i].shape().begin() + 1, theirs[i].shape().end()))
        throw std::invalid_argument(doing + ": " + part_name(batch, part, i) + " is " +
                                    record_text(ours[i]) + " a record, before it was " +
                                    record_text(theirs[i]));
  }
}

// Copies the records of batches of one form. A single batch is returned unchanged.
[[nodiscard]] inline Batch join(const std::vector<Batch> &batches) {
  if (batches.size() == 1) return batches[0];
  Batch joined;
  joined.input_names = batches[0].input_names;
  int64_t records = 0;
  for (const Batch &batch : batches) records += batch.records();
  for (const auto part : batch_parts) {
    (joined.*part).reserve((batches[0].*part).size());
    for (size_t i = 0; i < (batches[0].*part).size(); ++i) {
      const Array &first = (batches[0].*part)[i];
      Shape shape = first.shape();
      shape[0] = records;
      Array all = Array::unset(first.dtype(), std::move(shape));
      if (first.has_texts()) all = all.marked_as_texts();
      auto *to = static_cast<std::byte *>(all.capi().data);
      for (const Batch &batch : batches) {
        const Array &from = (batch.*part)[i];
        if (from.bytes() != 0) std::memcpy(to, from.capi().data, from.bytes());
        to += from.bytes();
      }
      (joined.*part).push_back(all);
    }
  }
  return joined;
}

}  // namespace detail
}  // namespace nn
}  // namespace v1
}  // namespace det
