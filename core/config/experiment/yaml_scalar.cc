#include "core/config/experiment/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/base/base64.h"
#include "core/base/json.h"
#include "core/base/utf8.h"

namespace det::config {

namespace {

template <size_t n>
bool is_one_of(const std::array<std::string_view, n> &words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> nulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> truths = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> lies = {"n",     "N",     "no",  "No",  "NO", "false",
                                                   "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 12> not_finite = {".nan",  ".NaN",  ".NAN",  ".inf",
                                                         ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                         "+.INF", "-.inf", "-.Inf", "-.INF"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 0x1F, 0o17, 017, 0b11, 42, each with a sign or without.
std::optional<double> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = text[1];
    base = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
    text.remove_prefix(base == 8 && mark != 'o' && mark != 'O' ? 1 : 2);
  }
  uint64_t value = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  return negative && value != 0 ? -static_cast<double>(value) : static_cast<double>(value);
}

// Digits with a point and an exponent; not what is too large for a double.
std::optional<double> parse_float(std::string_view text) {
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  const std::string_view unsigned_text = text.substr(is_signed ? 1 : 0);
  if (unsigned_text.empty() || (!is_digit(unsigned_text[0]) && unsigned_text[0] != '.'))
    return std::nullopt;
  const std::string_view digits = text.starts_with('+') ? unsigned_text : text;
  double value = 0;
  const char *end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (stop != end) return std::nullopt;
  if (error == std::errc()) return value;
  // Out of range: too small is zero, too large is no number.
  const bool tiny = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos;
  return tiny ? std::optional(0.0) : std::nullopt;
}

std::string without_underscores(std::string text) {
  std::erase(text, '_');
  return text;
}

}  // namespace

Json number_as_double(double value) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  const bool whole = std::trunc(value) == value && value >= -limit && value < limit;
  if (whole && !(value == 0 && std::signbit(value))) return static_cast<int64_t>(value);
  return value;
}

std::optional<Json> resolve_plain_scalar(const std::string &text) {
  if (is_one_of(nulls, text)) return Json(nullptr);
  if (is_one_of(truths, text)) return Json(true);
  if (is_one_of(lies, text)) return Json(false);
  if (is_one_of(not_finite, text)) return std::nullopt;
  const char first = text[0];
  if (!is_digit(first) && first != '+' && first != '-' && first != '.') return Json(text);
  const std::string digits = without_underscores(text);
  std::optional<double> number = parse_integer(digits);
  if (!number) number = parse_float(digits);
  return number ? number_as_double(*number) : Json(text);
}

std::optional<Json> resolve_tagged_scalar(const std::string &tag, const std::string &text) {
  if (tag == "binary") {
    const std::optional<std::string> bytes = from_base64(text);
    return bytes ? std::optional<Json>(to_utf8(*bytes)) : std::nullopt;
  }
  const bool is_number = tag == "int" || tag == "float";
  if (!is_number && tag != "null" && tag != "bool") return Json(text);
  std::optional<Json> value = resolve_plain_scalar(text);
  const bool fits = value && (tag == "null"   ? value->is_null()
                              : tag == "bool" ? value->is_boolean()
                                              : value->is_number());
  if (!fits || (tag == "int" && !parse_integer(without_underscores(text)))) return std::nullopt;
  return value;
}

}  // namespace det::config
