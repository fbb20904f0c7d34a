#include <det/info.h>

#include "capi/guard.h"
#include "capi/handles.h"

namespace {

// A typed hyperparameter; `convert` answers nothing for another type.
template <class T, class Convert>
void get(const det_info *info, const char *name, T *out, const char *type, Convert convert) {
  T &result = deref(out, "out");
  const det::Json &value = deref(info, "info").impl.hparam(text(name, "name"));
  const auto converted = convert(value);
  if (!converted)
    throw det::Error(det::Code::invalid, "reading hyperparameter '" + std::string(name) +
                                             "': expected " + type + ", found " +
                                             det::to_wire(value));
  result = static_cast<T>(*converted);
}

template <class T, class Convert>
T get_or(const det_info *info, const char *name, T fallback, const char *type, Convert convert) {
  return or_else(fallback, [&]() -> T {
    if (info == nullptr || name == nullptr || info->impl.find_hparam(name) == nullptr)
      return fallback;
    T value = fallback;
    try {
      get(info, name, &value, type, convert);
    } catch (const det::Error &e) {
      info->logger.warning(std::string(e.what()) + "; its fallback is used");
    }
    return value;
  });
}

constexpr const char *number = "a number";
constexpr const char *integer = "an integer";
constexpr const char *truth = "true or false";
constexpr const char *text_type = "a text";

std::optional<const char *> as_text(const det::Json &value) {
  if (!value.is_string()) return std::nullopt;
  return value.get_ref<const std::string &>().c_str();
}

}  // namespace

int64_t det_info_trial_id(const det_info *info) noexcept {
  return info != nullptr ? info->impl.run().trial_id : 0;
}

int64_t det_info_experiment_id(const det_info *info) noexcept {
  return info != nullptr ? info->impl.run().experiment_id : 0;
}

int64_t det_info_trial_run_id(const det_info *info) noexcept {
  return info != nullptr ? info->impl.run().run_id : 0;
}

int64_t det_info_trial_seed(const det_info *info) noexcept {
  return info != nullptr ? info->impl.run().trial_seed : 0;
}

int64_t det_info_steps_completed(const det_info *info) noexcept {
  return info != nullptr ? info->impl.run().steps_completed : 0;
}

const char *det_info_latest_checkpoint(const det_info *info) noexcept {
  if (info == nullptr || !info->impl.run().latest_checkpoint) return nullptr;
  return info->impl.run().latest_checkpoint->c_str();
}

int32_t det_info_on_cluster(const det_info *info) noexcept {
  return info != nullptr && info->impl.on_cluster() ? 1 : 0;
}

const char *det_info_hparams_json(const det_info *info) noexcept {
  return info != nullptr ? info->impl.hparams_text().c_str() : "{}";
}

const char *det_info_config_json(const det_info *info) noexcept {
  return info != nullptr ? info->impl.config_text().c_str() : "{}";
}

const char *det_info_user_data_json(const det_info *info) noexcept {
  return info != nullptr ? info->impl.user_data_text().c_str() : "{}";
}

const char *det_info_json(const det_info *info) noexcept {
  return info != nullptr ? info->impl.text().c_str() : "{}";
}

size_t det_info_hparam_count(const det_info *info) noexcept {
  return info != nullptr ? info->impl.hparam_names().size() : 0;
}

const char *det_info_hparam_name(const det_info *info, size_t index) noexcept {
  if (info == nullptr || index >= info->impl.hparam_names().size()) return nullptr;
  return info->impl.hparam_names()[index].c_str();
}

double det_info_hparam_double(const det_info *info, const char *name, double fallback) noexcept {
  return get_or(info, name, fallback, number, det::context::as_double);
}

int64_t det_info_hparam_int(const det_info *info, const char *name, int64_t fallback) noexcept {
  return get_or(info, name, fallback, integer, det::context::as_integer);
}

int32_t det_info_hparam_bool(const det_info *info, const char *name, int32_t fallback) noexcept {
  return get_or(info, name, fallback, truth, det::context::as_bool);
}

const char *det_info_hparam_string(const det_info *info, const char *name,
                                   const char *fallback) noexcept {
  return get_or(info, name, fallback, text_type, as_text);
}

det_status det_info_get_hparam_double(const det_info *info, const char *name, double *out,
                                      det_error *err) noexcept {
  return guarded(err, [&] { get(info, name, out, number, det::context::as_double); });
}

det_status det_info_get_hparam_int(const det_info *info, const char *name, int64_t *out,
                                   det_error *err) noexcept {
  return guarded(err, [&] { get(info, name, out, integer, det::context::as_integer); });
}

det_status det_info_get_hparam_bool(const det_info *info, const char *name, int32_t *out,
                                    det_error *err) noexcept {
  return guarded(err, [&] { get(info, name, out, truth, det::context::as_bool); });
}

det_status det_info_get_hparam_string(const det_info *info, const char *name, char **out,
                                      det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      const char *value = nullptr;
      get(info, name, &value, text_type, as_text);
      return copy_text(value);
    });
  });
}

det_status det_info_get_hparam_json(const det_info *info, const char *name, char **out,
                                    det_error *err) noexcept {
  return guarded(err, [&] {
    give(out, "out", [&] {
      return copy_text(det::to_wire(deref(info, "info").impl.hparam(text(name, "name"))));
    });
  });
}
