#include "wrappers/nn/class_weights.h"

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/json.h"
#include "wrappers/nn/array_copy.h"

namespace det::nn {

namespace {

[[noreturn]] void refuse_classes(const std::string &problem) {
  throw Error(Code::invalid, "weighting classes: " + problem);
}

template <class Number>
int64_t class_of(Number label, size_t record) {
  if constexpr (std::is_floating_point_v<Number>) {
    constexpr auto most = static_cast<Number>(int64_t{1} << 53U);  // more are not all whole
    if (!(std::fabs(label) <= most) || label != std::trunc(label)) {
      std::string text;
      append_number(text, static_cast<double>(label));
      refuse_classes("the label of record " + std::to_string(record) + " is " + text +
                     ", which is no class");
    }
  }
  return static_cast<int64_t>(label);
}

float weight_of(int64_t label, std::span<const double> weights) {
  const auto place = static_cast<uint64_t>(label);  // far behind all where the label is below 0
  if (place >= weights.size())
    refuse_classes("there is a label " + std::to_string(label) + ", and no weight for it");
  return static_cast<float>(weights[place]);
}

// Multiplies them into `room`.
template <class Number>
void weigh_labels(const Array &labels, std::span<const double> weights, std::vector<float> &room) {
  const size_t width = labels.size() / room.size();
  if (width == 0) refuse_classes("a record has no label");
  const Number *label = labels.data<Number>();
  for (size_t record = 0; record < room.size(); ++record, label += width)
    room[record] *=
        weight_of(width == 1 ? class_of(*label, record)
                             : static_cast<int64_t>(std::max_element(label, label + width) - label),
                  weights);
}

void weigh_labels(const Array &labels, std::span<const double> weights, std::vector<float> &room) {
  switch (labels.dtype()) {
    case Dtype::u8:
      return weigh_labels<uint8_t>(labels, weights, room);
    case Dtype::i32:
      return weigh_labels<int32_t>(labels, weights, room);
    case Dtype::i64:
      return weigh_labels<int64_t>(labels, weights, room);
    case Dtype::f32:
      return weigh_labels<float>(labels, weights, room);
    case Dtype::f64:
      return weigh_labels<double>(labels, weights, room);
    default:
      refuse_classes(std::string("labels are U8, I32, I64, F32 or F64, not ") +
                     tensors::name_of(labels.dtype()));
  }
}

int64_t records_of(const Array &array) { return array.shape().empty() ? 0 : array.shape()[0]; }

}  // namespace

void weigh_classes(Batch &batch, std::span<const double> weights, std::vector<float> &room) {
  for (size_t label = 0; label < weights.size(); ++label)
    if (!std::isfinite(weights[label]))
      refuse_classes("the weight of " + std::to_string(label) + " is no number");
  if (batch.truths.size() != 1)
    refuse_classes("there is one result, not " + std::to_string(batch.truths.size()));
  const int64_t records = batch.inputs.empty() ? 0 : records_of(batch.inputs[0]);
  if (records <= 0) return;
  for (const auto *arrays : {&batch.truths, &batch.weights})
    if (!arrays->empty() && records_of((*arrays)[0]) != records)
      refuse_classes("there are " + std::to_string(records_of((*arrays)[0])) +
                     (arrays == &batch.truths ? " labels" : " sample weights") + " for " +
                     std::to_string(records) + " records");
  room.assign(static_cast<size_t>(records), 1);
  const Array of_records = Array::borrowed({{records}, Dtype::f32}, room.data());
  if (!batch.weights.empty()) {
    if (batch.weights[0].size() != room.size())
      refuse_classes("there is one sample weight for each record");
    copy_elements(batch.weights[0], of_records, "the array of the weights of records");
  }
  weigh_labels(batch.truths[0], weights, room);
  batch.weights.resize(1);
  batch.weights[0].borrow(Dtype::f32, of_records.shape(), room.data());
}

}  // namespace det::nn
