// Values of nlohmann::json wherever det takes or gives JSON; include it where you have that
// library.
#pragma once

#include <det/json.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

namespace det {
inline namespace v1 {

namespace detail {

template <class Value>
struct NlohmannTraits {
  // NaN and infinities stay what they are, where nlohmann's own dump() makes them null.
  static std::string dump(const Value &value) {
    std::string text;
    append(value, text);
    return text;
  }

  static Value parse(const std::string &text) {
    return text.empty() ? Value() : Value::parse(text);
  }

 private:
  static void append(const Value &value, std::string &text) {
    if (value.is_structured() && !value.empty()) {
      text += value.is_object() ? '{' : '[';
      for (auto item = value.begin(); item != value.end(); ++item) {
        if (item != value.begin()) text += ',';
        if (value.is_object()) text += Value(item.key()).dump() + ':';
        append(*item, text);
      }
      text += value.is_object() ? '}' : ']';
    } else if (value.is_number_float() && !std::isfinite(value.template get<double>())) {
      const auto number = value.template get<double>();
      text += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
    } else {
      text += value.dump();
    }
  }
};

}  // namespace detail

template <>
struct JsonTraits<nlohmann::json> : detail::NlohmannTraits<nlohmann::json> {};
template <>
struct JsonTraits<nlohmann::ordered_json> : detail::NlohmannTraits<nlohmann::ordered_json> {};

}  // namespace v1
}  // namespace det
