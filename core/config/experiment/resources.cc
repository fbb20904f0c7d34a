// The sections `resources` and `bind_mounts`: what a trial gets of the machine.
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/config/experiment/check.h"
#include "core/config/experiment/sections.h"
#include "core/config/experiment/transform.h"

namespace det::config {

namespace {

// "1.5 gb": a number, a space or none, and b, or k, m, g, t or p alone or with b or ib behind.
std::optional<int64_t> parse_memory_size(const std::string &text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const std::string digits = text.substr(0, end);
  const size_t point = digits.find('.');
  if (digits.empty() || point == 0 || digits.back() == '.' ||
      (point != digits.npos && digits.find('.', point + 1) != digits.npos))
    return std::nullopt;
  std::string unit = end == text.npos ? "" : text.substr(end);
  if (unit.size() > 1 && unit[0] == ' ') unit.erase(0, 1);
  for (char &c : unit) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  double factor = 1;
  if (!unit.empty() && unit != "b") {
    const size_t power = std::string_view("kmgtp").find(unit[0]);
    const std::string behind = unit.substr(1);
    if (power == std::string_view::npos || (!behind.empty() && behind != "b" && behind != "ib"))
      return std::nullopt;
    factor = std::pow(1024.0, static_cast<double>(power + 1));
  }
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const double bytes = number * factor;
  return bytes < 9e18 ? std::optional(static_cast<int64_t>(bytes)) : std::nullopt;
}

bool check_memory_size(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (value.is_string() && !parse_memory_size(value.get<std::string>()))
    checker.report(
        at, "rule",
        "must be a number of bytes or a size like '1.5 gb', found " + found_value(value));
  return true;
}

Json decode_memory_size(Json value) {
  if (!value.is_string()) return value;
  const std::optional<int64_t> bytes = parse_memory_size(value.get<std::string>());
  return bytes ? Json(*bytes) : value;
}

// "/host:/container" or "/host:/container:mode" taken apart.
std::optional<Json> parse_device(const std::string &text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') parts.emplace_back();
    else parts.back() += c;
  }
  if (parts.size() < 2 || parts.size() > 3 || !parts[0].starts_with('/') ||
      !parts[1].starts_with('/'))
    return std::nullopt;
  Json device = {{"host_path", parts[0]}, {"container_path", parts[1]}};
  if (parts.size() == 3) device["mode"] = parts[2];
  return device;
}

bool is_device(const Json &device) {
  if (device.is_string()) return parse_device(device.get<std::string>()).has_value();
  for (const auto &[key, value] : device.items())
    if ((key != "host_path" && key != "container_path" && key != "mode") ||
        !(value.is_string() || (key == "mode" && value.is_null())))
      return false;
  return device.contains("host_path") && device.contains("container_path");
}

bool check_device(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!is_device(value))
    checker.report(at, "no_alternative",
                   "must be a text '/HOST/PATH:/CONTAINER/PATH[:MODE]', or an object with "
                   "'host_path', 'container_path' and, if wanted, 'mode'; found " +
                       found_value(value));
  return false;
}

Json decode_device(Json value) {
  if (!value.is_string()) return value;
  return parse_device(value.get<std::string>()).value_or(value);
}

Json merge_mounts(const ConfigSchema &, const Json &first, const Json &second) {
  return append_by_key(first, second, "container_path");
}

bool check_host_path(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (!value.get<std::string>().starts_with('/'))
    checker.report(at, "rule", "must be an absolute path, found " + found_value(value));
  return true;
}

bool check_container_path(ConfigChecker &checker, const Json &value, const ConfigPath &at) {
  if (value == ".") checker.report(at, "rule", "must not be '.'");
  return true;
}

}  // namespace

ConfigSchema resources_schema(ConfigRules rules) {
  const ConfigSchema device =
      object({required("host_path", text()), required("container_path", text()),
              optional("mode", text(), "mrw")})
          .or_type(config_type::text)
          .checked(check_device)
          .decoded(decode_device);
  const bool is_new = rules == ConfigRules::v0_38;
  ConfigSchema schema = object({
      optional("slots_per_trial", integer().at_least(0), 1),
      optional("max_slots", integer(), nullptr),
      optional("weight", number(), 1),
      optional("priority", integer().at_least(1).at_most(99), is_new ? Json(42) : Json(nullptr)),
      optional("resource_pool", text(), ""),
      optional("is_single_node", boolean(), nullptr),
      optional("shm_size",
               integer()
                   .or_type(config_type::text)
                   .checked(check_memory_size)
                   .decoded(decode_memory_size),
               nullptr),
      optional("devices", list_of(device).merged(merge_mounts), Json::array()),
      optional("native_parallel", boolean(), false),
      ignored("agent_label", text()),
  });
  if (!is_new) schema.fields.push_back(optional("slots", integer()));
  return schema;
}

ConfigSchema bind_mounts_schema() {
  return list_of(object({
                     required("host_path", text().checked(check_host_path)),
                     required("container_path", text().checked(check_container_path)),
                     optional("read_only", boolean(), false),
                     optional("propagation", text(), "rprivate"),
                 }))
      .merged(merge_mounts);
}

}  // namespace det::config
