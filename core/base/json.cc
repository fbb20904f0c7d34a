#include "core/base/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "core/base/error.h"
#include "core/base/uuid.h"

namespace {

template <class Value>
void destroy_value(Value *value) {
  if (value == nullptr) return;  // a constructor has failed
  std::destroy_at(value);
  std::allocator<Value>().deallocate(value, 1);
}

}  // namespace

#define DESTROY_WITHOUT_ALLOCATING(Kind)                     \
  template <>                                                \
  void nlohmann::Kind::json_value::destroy(value_t type) {   \
    if (type == value_t::object) destroy_value(object);      \
    else if (type == value_t::array) destroy_value(array);   \
    else if (type == value_t::string) destroy_value(string); \
    else if (type == value_t::binary) destroy_value(binary); \
  }

DESTROY_WITHOUT_ALLOCATING(ordered_json)
DESTROY_WITHOUT_ALLOCATING(json)

namespace det {

namespace {

constexpr int max_depth = 128;

struct NonFinite {
  std::string_view bare;
  double value;
};
constexpr std::array<NonFinite, 3> non_finite{{{"-Infinity", -HUGE_VAL},
                                               {"Infinity", HUGE_VAL},
                                               {"NaN", std::numeric_limits<double>::quiet_NaN()}}};

bool is_followed_by_colon(std::string_view text, size_t at) {
  at = text.find_first_not_of(" \t\r\n", at);
  return at != text.npos && text[at] == ':';
}

// A bare NaN is not JSON, so it travels through the parser as a text: `mark`, which the document
// does not hold, and its index. Gives whether there was any, with the new text in `out`.
bool quote_non_finite(std::string_view text, const std::string &mark, std::string &out) {
  bool in_string = false;
  bool found = false;
  for (size_t i = 0; i < text.size();) {
    if (in_string) {
      if (text[i] == '\\' && i + 1 < text.size()) out += text[i++];
      else if (text[i] == '"') in_string = false;
      out += text[i++];
      continue;
    }
    in_string = text[i] == '"';
    const auto *match = std::find_if(non_finite.begin(), non_finite.end(), [&](const NonFinite &n) {
      return text.substr(i).starts_with(n.bare);
    });
    if (match == non_finite.end() || is_followed_by_colon(text, i + match->bare.size())) {
      out += text[i++];
    } else {
      out += '"' + mark + static_cast<char>('0' + (match - non_finite.begin())) + '"';
      i += match->bare.size();
      found = true;
    }
  }
  return found;
}

void restore_non_finite(Json &value, const std::string &mark) {
  if (value.is_structured()) {
    for (Json &child : value) restore_non_finite(child, mark);
  } else if (value.is_string()) {
    const auto &text = value.get_ref<const std::string &>();
    if (text.starts_with(mark)) value = non_finite.at(static_cast<size_t>(text.back() - '0')).value;
  }
}

// Deep nesting would overflow the stack of whoever walks the value later.
void check_depth(std::string_view text, const std::string &what) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth)
        throw Error(Code::invalid, "reading " + what + ": nested deeper than " +
                                       std::to_string(max_depth) + " levels");
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
}

void append_string(std::string &out, const std::string &text) {
  out += Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

void append_pretty(std::string &out, const Json &value, size_t indent) {
  if (value.is_structured() && !value.empty()) {
    const bool object = value.is_object();
    const std::string line = "\n" + std::string(indent + 2, ' ');
    out += object ? '{' : '[';
    bool first = true;
    for (auto it = value.begin(); it != value.end(); ++it) {
      if (!first) out += ',';
      first = false;
      out += line;
      if (object) {
        append_string(out, it.key());
        out += ": ";
      }
      append_pretty(out, it.value(), indent + 2);
    }
    out += "\n" + std::string(indent, ' ');
    out += object ? '}' : ']';
  } else if (value.is_string()) {
    append_string(out, value.get_ref<const std::string &>());
  } else if (value.is_number_float()) {
    append_number(out, value.get<double>());
  } else {
    out += value.dump();
  }
}

Json with_texts_for_non_finite(const Json &value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    std::string text;
    append_number(text, value.get<double>());
    return text;
  }
  if (!value.is_structured()) return value;
  Json copy = value;
  for (Json &child : copy) child = with_texts_for_non_finite(child);
  return copy;
}

}  // namespace

Json parse_json(std::string_view text, const std::string &what) {
  check_depth(text, what);
  try {
    if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos)
      return Json::parse(text);
    const std::string mark = make_uuid();
    std::string quoted;
    if (!quote_non_finite(text, mark, quoted)) return Json::parse(text);
    Json value = Json::parse(quoted);
    restore_non_finite(value, mark);
    return value;
  } catch (const Json::exception &e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..." → from "parse error"
    const char *detail = std::strstr(e.what(), "] ");
    throw Error(Code::invalid, "reading " + what + ": not valid JSON: " +
                                   (detail != nullptr ? detail + 2 : e.what()));
  }
}

Json parse_json_object(std::string_view text, const std::string &what) {
  Json value = parse_json(text, what);
  if (!value.is_object())
    throw Error(Code::invalid, "reading " + what +
                                   ": expected a JSON object like {\"a\": 1}, got " +
                                   std::string(value.type_name()));
  return value;
}

std::string to_wire(const Json &value) {
  return with_texts_for_non_finite(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_metadata_text(const Json &value) {
  std::string out;
  append_pretty(out, value, 0);
  return out;
}

std::string pack(const Json &value) {
  std::string bytes;
  Json::to_cbor(value, bytes);
  return bytes;
}

Json unpack(std::string_view bytes, const std::string &what) {
  try {
    return Json::from_cbor(bytes.begin(), bytes.end());
  } catch (const Json::exception &e) {
    throw Error(Code::corrupt, "reading " + what + ": " + e.what());
  }
}

void append_number(std::string &out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  char buffer[400];
  // Positional between 1e-4 and 1e16, as Python's repr() has it.
  const double magnitude = std::fabs(value);
  const bool positional = magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16);
  const auto format = positional ? std::chars_format::fixed : std::chars_format::scientific;
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, format);
  const std::string_view text(buffer, static_cast<size_t>(result.ptr - buffer));
  out += text;
  if (positional && text.find('.') == text.npos) out += ".0";
}

}  // namespace det
