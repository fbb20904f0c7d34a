// Accepts and returns values of nlohmann::json as JSON everywhere in det. Include it if you have
// that library.
#pragma once

#include <det/json.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace det {
inline namespace v1 {

namespace detail {

template <class Value>
struct NlohmannTraits {
  // Keeps NaN and infinities. nlohmann's own dump() makes them null, and its parse() rejects them.
  static std::string dump(const Value &value) {
    std::string text;
    append(value, text);
    return text;
  }

  static Value parse(const std::string &text) {
    if (text.empty()) return Value();
    if (text.find("NaN") == text.npos && text.find("Infinity") == text.npos)
      return Value::parse(text);
    Value value = Value::parse(marked(text));
    unmark(value);
    return value;
  }

 private:
  struct NotFinite {
    const char *text;
    double number;
    std::string mark() const { return std::string(1, '\0') + text; }
  };
  static std::array<NotFinite, 3> not_finite() {
    const double infinity = std::numeric_limits<double>::infinity();
    return {{{"NaN", std::nan("")}, {"-Infinity", -infinity}, {"Infinity", infinity}}};
  }

  // Replaces each of them outside of texts by a text that is unique.
  static std::string marked(const std::string &text) {
    std::string result;
    bool is_in_text = false;
    for (size_t i = 0; i < text.size();) {
      size_t length = is_in_text && text[i] == '\\' ? 2 : 1;
      is_in_text = is_in_text != (text[i] == '"');
      std::string piece = text.substr(i, length);
      if (!is_in_text)
        for (const NotFinite &one : not_finite())
          if (text.compare(i, std::strlen(one.text), one.text) == 0) {
            length = std::strlen(one.text);
            piece = Value(one.mark()).dump();
            break;
          }
      result += piece;
      i += length;
    }
    return result;
  }

  static void unmark(Value &value) {
    if (value.is_structured())
      for (Value &item : value) unmark(item);
    if (!value.is_string()) return;
    for (const NotFinite &one : not_finite())
      if (value.template get_ref<const std::string &>() == one.mark()) {
        value = one.number;
        return;
      }
  }

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
