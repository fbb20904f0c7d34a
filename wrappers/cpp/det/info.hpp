// Facts about this run: its trial, its experiment and its hyperparameters.
#pragma once

#include <det/info.h>
#include <det/detail/handle.hpp>
#include <det/detail/index_iterator.hpp>
#include <det/error.hpp>
#include <det/json.hpp>

#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace det {
inline namespace v1 {

namespace detail {

template <class T>
struct SaidType {
  using type = T;
};
template <class T>
using Said = typename SaidType<T>::type;  // T is not deduced from an argument of this type

}  // namespace detail

// The hyperparameters, a view borrowed from the core. As a range it has their names. Dots in a name
// step into nested groups.
class Hparams {
 public:
  explicit Hparams(const det_info *info) noexcept : info_(info) {}

  // T is bool, an integer, a floating-point number, a std::string, Json, or a type that JsonTraits
  // knows. Fails with Code::not_found for an unknown name. Fails with Code::invalid for another
  // type or a number that T cannot hold.
  template <class T>
  [[nodiscard]] T get(Text name, OnFailure on = {}) const;

  // Returns `fallback` for an unknown name. It also does so for a value of another type, with a
  // warning in the log. Always name T: a fallback of 1 would mean an integer, even for a value of
  // 0.5.
  template <class T>
  [[nodiscard]] T get(Text name, detail::Said<T> fallback, OnFailure on = {}) const;

  // As get() without a fallback. Returns nothing for an unknown name.
  template <class T>
  [[nodiscard]] std::optional<T> find(Text name, OnFailure on = {}) const;

  [[nodiscard]] size_t size() const noexcept { return det_info_hparam_count(info_); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const char *operator[](size_t index) const noexcept {
    return det_info_hparam_name(info_, index);
  }
  [[nodiscard]] detail::IndexIterator<Hparams> begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] detail::IndexIterator<Hparams> end() const noexcept { return {*this, size()}; }

  // All of them as one object.
  [[nodiscard]] Json json() const { return det_info_hparams_json(info_); }

 private:
  template <class T, class Wide>
  static T narrowed(Wide value, Text name, OnFailure on);

  const det_info *info_;
};

// The facts about this run. It is a view borrowed from the core, as are its texts.
class Info {
 public:
  explicit Info(const det_info *info) noexcept : info_(info) {}

  [[nodiscard]] int64_t trial_id() const noexcept { return det_info_trial_id(info_); }
  [[nodiscard]] int64_t experiment_id() const noexcept { return det_info_experiment_id(info_); }
  [[nodiscard]] int64_t trial_run_id() const noexcept { return det_info_trial_run_id(info_); }
  [[nodiscard]] int64_t trial_seed() const noexcept { return det_info_trial_seed(info_); }
  [[nodiscard]] int64_t steps_completed() const noexcept { return det_info_steps_completed(info_); }
  // The id of the checkpoint to resume from. NULL if the trial starts anew.
  [[nodiscard]] const char *latest_checkpoint() const noexcept {
    return det_info_latest_checkpoint(info_);
  }
  [[nodiscard]] bool on_cluster() const noexcept { return det_info_on_cluster(info_) != 0; }

  [[nodiscard]] Hparams hparams() const noexcept { return Hparams(info_); }
  [[nodiscard]] Json config_json() const { return det_info_config_json(info_); }
  [[nodiscard]] Json user_data_json() const { return det_info_user_data_json(info_); }
  // All known facts about this run.
  [[nodiscard]] Json json() const { return det_info_json(info_); }

  [[nodiscard]] const det_info *capi() const noexcept { return info_; }

 private:
  const det_info *info_;
};

template <class T, class Wide>
T Hparams::narrowed(Wide value, Text name, OnFailure on) {
  bool fits = true;
  if constexpr (std::is_floating_point_v<T>) {
    constexpr auto most = static_cast<Wide>(std::numeric_limits<T>::max());
    fits = !(value > most || value < -most) || std::isinf(value);
  } else if constexpr (std::is_unsigned_v<T>) {
    fits = value >= 0 && static_cast<uint64_t>(value) <= std::numeric_limits<T>::max();
  } else {
    fits = value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  }
  if (fits) return static_cast<T>(value);
  det_error error = DET_ERROR_INIT;
  error.code = DET_E_INVALID;
  std::snprintf(error.message, sizeof error.message,
                "reading hyperparameter '%.200s': %.17g is beyond what the type asked for holds",
                name.c_str(), static_cast<double>(value));
  on.failed(error);
  return T();
}

template <class T>
T Hparams::get(Text name, OnFailure on) const {
  if constexpr (std::is_same_v<T, bool>) {
    int32_t value = 0;
    detail::call(on, det_info_get_hparam_bool, info_, name.c_str(), &value);
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    int64_t value = 0;
    detail::call(on, det_info_get_hparam_int, info_, name.c_str(), &value);
    return narrowed<T>(value, name, on);
  } else if constexpr (std::is_floating_point_v<T>) {
    double value = 0;
    detail::call(on, det_info_get_hparam_double, info_, name.c_str(), &value);
    return narrowed<T>(value, name, on);
  } else if constexpr (std::is_same_v<T, std::string>) {
    char *value = nullptr;
    detail::call(on, det_info_get_hparam_string, info_, name.c_str(), &value);
    return detail::taken(value);
  } else {
    Json value = detail::answer(on, det_info_get_hparam_json, info_, name.c_str());
    if constexpr (std::is_same_v<T, Json>) return value;
    else return value.text().empty() ? T() : value.template as<T>();  // empty: the call failed
  }
}

template <class T>
T Hparams::get(Text name, detail::Said<T> fallback, OnFailure on) const {
  if constexpr (std::is_same_v<T, bool>) {
    return det_info_hparam_bool(info_, name.c_str(), fallback ? 1 : 0) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    const auto wide = static_cast<int64_t>(fallback);
    const int64_t value = det_info_hparam_int(info_, name.c_str(), wide);
    return value == wide ? fallback : narrowed<T>(value, name, on);
  } else if constexpr (std::is_floating_point_v<T>) {
    const auto wide = static_cast<double>(fallback);
    return narrowed<T>(det_info_hparam_double(info_, name.c_str(), wide), name, on);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return det_info_hparam_string(info_, name.c_str(), fallback.c_str());
  } else {
    return find<T>(name, on).value_or(std::move(fallback));
  }
}

template <class T>
std::optional<T> Hparams::find(Text name, OnFailure on) const {
  Failure failure;
  std::optional<T> value = get<T>(name, failure);
  if (failure) value.reset();
  if (failure && failure.code() != Code::not_found) on.failed(failure.capi());
  else on.succeeded();
  return value;
}

}  // namespace v1
}  // namespace det
