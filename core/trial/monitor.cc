#include "core/trial/monitor.h"

#include <cmath>

#include "core/base/error.h"

namespace det::trial {

namespace {

[[noreturn]] void refuse_state(const char *key, const Json &value, const char *expected) {
  throw Error(Code::invalid, std::string("loading the state of a rule: ") + key + " is " +
                                 to_wire(value) + "; expected " + expected);
}

}  // namespace

double worst(bool smaller_is_better) { return smaller_is_better ? HUGE_VAL : -HUGE_VAL; }

double number_in(const Json &state, const char *key, double otherwise) {
  const auto found = state.find(key);
  if (found == state.end()) return otherwise;
  if (!found->is_number()) refuse_state(key, *found, "a number");
  return found->get<double>();
}

int64_t count_in(const Json &state, const char *key, int64_t otherwise) {
  const auto found = state.find(key);
  if (found == state.end()) return otherwise;
  if (!found->is_number_integer() || *found < 0 || *found > INT32_MAX)
    refuse_state(key, *found, "a whole number from 0 on");
  return found->get<int64_t>();
}

}  // namespace det::trial
