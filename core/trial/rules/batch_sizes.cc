#include "core/trial/rules/batch_sizes.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::trial {

namespace {

[[noreturn]] void refuse_batch(const std::string &problem) {
  throw Error(Code::invalid, "dividing a batch among slots: " + problem);
}

std::string type_of(const Json &value) {
  return value.is_number_float() ? "float" : value.type_name();
}

}  // namespace

BatchSizes divide_batch(const Json &hparams, int64_t slots, const std::string &trial_kind) {
  const auto found = hparams.find("global_batch_size");
  if (found == hparams.end())
    refuse_batch("global_batch_size is a required hyperparameter of " + trial_kind +
                 ", which is missing; add it to hyperparameters of the configuration, which "
                 "'--config FILE' or 'det run FILE' gives");
  // True is 1, as in Python.
  if (!found->is_number_integer() && !found->is_boolean())
    refuse_batch("the hyperparameter global_batch_size must be an integer, not " + type_of(*found));
  const bool fits = !found->is_number_unsigned() || found->get<uint64_t>() <= INT64_MAX;
  const int64_t global = found->is_boolean() ? found->get<bool>() : found->get<int64_t>();
  slots = std::max<int64_t>(slots, 1);
  if (!fits || global < slots)
    refuse_batch("global_batch_size is " + to_wire(*found) + ", and there are " +
                 std::to_string(slots) + " slots; each needs a record at least");
  BatchSizes sizes;
  sizes.per_slot = global / slots;
  sizes.global = sizes.per_slot * slots;
  if (sizes.global != global)
    sizes.warning = "global_batch_size " + std::to_string(global) + " is no multiple of " +
                    std::to_string(slots) + " slots; batches have " + std::to_string(sizes.global) +
                    " records, " + std::to_string(sizes.per_slot) + " for each slot";
  return sizes;
}

}  // namespace det::trial
