#include "core/search/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/search/built_in.h"
#include "core/search/custom.h"
#include "core/search/hyperparameters.h"
#include "core/search/settings.h"

namespace det::search {

namespace {

constexpr std::array<std::pair<std::string_view, ExitReason>, 5> exit_reasons{
    {{"ERRORED", ExitReason::errored},
     {"USER_REQUESTED_STOP", ExitReason::user_requested_stop},
     {"USER_CANCELED", ExitReason::user_canceled},
     {"INVALID_HP", ExitReason::invalid_hp},
     {"INIT_INVALID_HP", ExitReason::invalid_hp}}};

uint32_t experiment_seed(const Json &config) {
  const Json section = config.value("reproducibility", Json());
  const Json seed = section.is_object() ? section.value("experiment_seed", Json()) : Json();
  if (seed.is_null()) return 0;
  const double number = seed.is_number() ? seed.get<double>() : -1;
  if (!(number >= 0 && number <= UINT32_MAX) || std::floor(number) != number)
    throw Error(Code::invalid, "reading the configuration: reproducibility.experiment_seed is " +
                                   to_wire(seed) + "; give a whole number from 0 to 2^32 - 1");
  return static_cast<uint32_t>(number);
}

}  // namespace

std::string_view exit_reason_name(ExitReason reason) {
  return std::ranges::find(exit_reasons, reason, [](const auto &entry) { return entry.second; })
      ->first;
}

ExitReason exit_reason_named(std::string_view name) {
  const auto *const found =
      std::ranges::find(exit_reasons, name, [](const auto &entry) { return entry.first; });
  if (found == exit_reasons.end())
    throw Error(Code::invalid, "reading a reason for an early exit: there is no '" +
                                   std::string(name) + "'; take ERRORED, INVALID_HP or the like");
  return found->second;
}

std::unique_ptr<Search> make_search(const Json &config, SearchRules rules) {
  if (!config.is_object())
    throw Error(
        Code::invalid,
        "reading the configuration: expected an object with a searcher, got " + to_wire(config));
  const SearchSettings settings = read_search_settings(config.value("searcher", Json()), rules);
  const uint32_t seed = experiment_seed(config);
  if (settings.method == SearchSettings::Method::custom)
    return std::make_unique<CustomSearch>(seed);
  return std::make_unique<BuiltInSearch>(
      settings, rules, read_hyperparameters(config.value("hyperparameters", Json())), seed);
}

}  // namespace det::search
