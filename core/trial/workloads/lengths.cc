#include "core/trial/workloads/lengths.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::trial {

namespace {

int64_t whole_number_in(const Json &value, const std::string &key) {
  const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value >= 0);
  if (!whole) refuse_config(key + " is " + to_wire(value) + "; give a whole number from 0 on");
  return static_cast<int64_t>(std::min<uint64_t>(value.get<uint64_t>(), endless));
}

Unit unit_of(const std::string &name) {
  return name == "batches"   ? Unit::batches
         : name == "records" ? Unit::records
         : name == "epochs"  ? Unit::epochs
                             : Unit::none;
}

}  // namespace

void refuse_config(const std::string &problem) {
  throw Error(Code::invalid, "reading the configuration for the trial's workloads: " + problem);
}

int64_t whole_number(const Json &config, const char *key, int64_t otherwise) {
  const auto found = config.find(key);
  return found == config.end() || found->is_null() ? otherwise : whole_number_in(*found, key);
}

int64_t Lengths::in_batches(Unit unit, int64_t length, const std::string &what) const {
  length = std::min(length, endless);
  if (unit == Unit::batches) return length;
  int64_t records = length;
  if (unit != Unit::records) {
    if (records_per_epoch == 0)
      refuse_config(what +
                    " is in epochs, and nothing says how long one is; set "
                    "records_per_epoch");
    if (__builtin_mul_overflow(length, records_per_epoch, &records)) records = INT64_MAX;
  }
  return std::clamp<int64_t>(records / global_batch_size, 1, endless);
}

int64_t Lengths::period(const Json &config, const char *key) const {
  const auto found = config.find(key);
  if (found == config.end() || found->is_null() || (found->is_object() && found->empty()))
    return endless;
  const bool one = found->is_object() && found->size() == 1;
  const Unit unit = one ? unit_of(found->begin().key()) : Unit::none;
  if (unit == Unit::none)
    refuse_config(std::string(key) + " is " + to_wire(*found) +
                  "; give one of {\"batches\": N}, {\"records\": N} and {\"epochs\": N}");
  const int64_t length = whole_number_in(found->begin().value(), key);
  const int64_t batches = in_batches(unit, length, key);
  return batches < 1 ? endless : batches;
}

}  // namespace det::trial
