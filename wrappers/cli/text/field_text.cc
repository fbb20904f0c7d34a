#include "wrappers/cli/text/field_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>

#include "core/base/text/utf8.h"
#include "wrappers/cli/plot/series.h"

namespace det::cli {

namespace {

bool is_number(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  if (text == "Infinity") return true;
  if (text.empty() || !(text[0] == '.' || (text[0] >= '0' && text[0] <= '9'))) return false;
  double value = 0;
  const char *end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ptr == end;
}

bool looks_like_a_formula(const std::string &text) {
  return text.find_first_of("=+-@\t\r\n") == 0 && !is_number(text);
}

std::string csv_field(std::string text, const Terminal &terminal) {
  if (looks_like_a_formula(text)) text.insert(0, 1, '\'');
  if (terminal.interactive) text = printable(text);
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

// JSON text has other characters than those of ASCII only inside of its texts.
std::string with_escapes(const std::string &json) {
  std::string out;
  for (std::string_view rest = json; !rest.empty();) {
    const std::string_view before = rest;
    const auto character = static_cast<uint32_t>(take_character(rest));
    char escape[16] = "";
    if (character > 0xFFFF && steers_text(static_cast<int32_t>(character)))
      std::snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xD7C0 + (character >> 10U),
                    0xDC00 + (character & 0x3FFU));
    else if (steers_text(static_cast<int32_t>(character)))
      std::snprintf(escape, sizeof escape, "\\u%04x", character);
    if (*escape) out += escape;
    else out += before.substr(0, before.size() - rest.size());
  }
  return out;
}

bool starts_number(char c) { return c == '-' || (c >= '0' && c <= '9'); }

// A number that any writer of JSON writes with these digits.
bool is_whole(std::string_view number) {
  constexpr size_t most_digits = 18;
  return number.size() <= most_digits && number.find_first_of(".Ee") == number.npos;
}

void flatten(const std::string &prefix, const Json &value,
             std::vector<std::pair<std::string, Json>> &out) {
  if (!value.is_object() || value.empty()) {
    out.emplace_back(prefix, value);
    return;
  }
  for (const auto &[name, inner] : value.items()) {
    flatten(prefix.empty() ? name : prefix + "." + name, inner, out);
  }
}

}  // namespace

const Json &field(const Json &entry, const char *key) {
  static const Json none;
  const auto found = entry.find(key);
  return found == entry.end() ? none : *found;
}

std::string text_of(const Json &value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

double double_of(const Json &value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nan("");
}

std::optional<double> seconds_of(const Json &time) {
  return time.is_string() ? seconds_of(time.get_ref<const std::string &>()) : std::nullopt;
}

std::optional<double> seconds_of(const std::string &text) {
  std::tm parts{};
  const char *rest = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!rest) return std::nullopt;
  double fraction = 0;
  if (*rest == '.') std::from_chars(rest, text.data() + text.size(), fraction);
  return static_cast<double>(timegm(&parts)) + fraction;
}

std::string brief_of(const Json &value) {
  constexpr size_t longest_list = 80, longest_text = 400;
  std::string text = text_of(value);
  if (!value.is_array()) {
    if (text.size() <= longest_text) return text;
    size_t end = longest_text;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
    return text.substr(0, end) + "... (" + std::to_string(text.size()) + " bytes)";
  }
  if (text.size() <= longest_list) return text;
  text = "[";
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string next = text_of(Json::array({value[i]}));
    if (i > 0 && text.size() + next.size() > longest_list)
      return text + " and " + std::to_string(value.size() - i) + " more]";
    text += brief_of(value[i].is_string() ? Json(next.substr(1, next.size() - 2)) : value[i]);
    if (i + 1 < value.size()) text += ",";
  }
  return text + "]";
}

std::string number_of(const Json &value) {
  return value.is_number_float() ? short_number(value.get<double>()) : brief_of(value);
}

std::string percent_of(const Json &value) {
  if (!value.is_number()) return "-";
  // Down, so that only what is finished shows 100%.
  return std::to_string(static_cast<int>(std::floor(value.get<double>() * 100))) + "%";
}

std::string bytes_of(const Json &value) {
  if (!value.is_number()) return "-";
  double bytes = value.get<double>();
  const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

std::string age_of(const Json &value) {
  const auto since = seconds_of(value);
  if (!since) return "-";
  const long long seconds =
      std::max<long long>(0, std::time(nullptr) - static_cast<long long>(*since));
  const auto whole = [&](long long unit, const char *name) {
    return std::to_string(seconds / unit) + name;
  };
  if (seconds < 60) return whole(1, "s");
  if (seconds < 3600) return whole(60, "m");
  if (seconds < 2 * 86400) return whole(3600, "h");
  return whole(86400, "d");
}

std::string duration_text(double seconds) {
  const auto total = std::llround(seconds > 0 ? std::min(seconds, 1e12) : 0);
  char text[64];
  if (total < 60) std::snprintf(text, sizeof text, "%llds", total);
  else if (total < 3600) std::snprintf(text, sizeof text, "%lldm%02llds", total / 60, total % 60);
  else if (total < 86400)
    std::snprintf(text, sizeof text, "%lldh%02lldm", total / 3600, total / 60 % 60);
  else std::snprintf(text, sizeof text, "%lldd%02lldh", total / 86400, total / 3600 % 24);
  return text;
}

std::string duration_of(const Json &from, const Json &to) {
  const auto begin = seconds_of(from);
  if (!begin) return "-";
  const double end = seconds_of(to).value_or(static_cast<double>(std::time(nullptr)));
  return duration_text(std::floor(end) - std::floor(*begin));
}

std::string clock_of(const Json &value) {
  if (!value.is_string()) return "-";
  std::string text = value.get<std::string>().substr(0, 19);
  if (text.size() == 19 && text[10] == 'T') text[10] = ' ';
  return text;
}

std::string json_line(const Json &value) {
  std::string json = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!is_plain(json)) json = with_escapes(json);
  return json + '\n';
}

std::string json_text_line(std::string_view json) {
  if (!is_plain(json) || json.find('\\') != json.npos)
    return json_line(JsonCursor(json, "an entry").value());
  std::string line;
  line.reserve(json.size() + 1);
  for (size_t at = 0; at < json.size();) {
    const char first = json[at];
    size_t end = at + 1;
    if (first == '"') end = std::min(json.find('"', end), json.size() - 1) + 1;
    if (starts_number(first))
      end = std::min(json.find_first_not_of("+-.0123456789Ee", end), json.size());
    const std::string_view part = json.substr(at, end - at);
    if (starts_number(first) && !is_whole(part))
      line += JsonCursor(part, "a number").value().dump();
    else if (first != ' ') line += part;
    at = end;
  }
  return line += '\n';
}

std::string csv_line(const std::vector<std::string> &texts, const Terminal &terminal) {
  std::string line;
  for (size_t i = 0; i < texts.size(); ++i)
    line += (i == 0 ? "" : ",") + csv_field(texts[i], terminal);
  return line + "\n";
}

std::vector<std::pair<std::string, Json>> flattened(const Json &object) {
  std::vector<std::pair<std::string, Json>> out;
  if (object.is_object() && !object.empty()) flatten("", object, out);
  return out;
}

std::string joined(const std::vector<std::string> &texts) {
  std::string out;
  for (const std::string &text : texts) out += (out.empty() ? "" : ", ") + text;
  return out;
}

}  // namespace det::cli
