// Builds configurations in the form of Keras, as text.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace det {
inline namespace v1 {
namespace nn {

using Shape = std::vector<int64_t>;

// A value of a configuration: null, a flag, a number, a text, or several numbers.
class ConfigValue {
 public:
  ConfigValue(std::nullptr_t) : text_("null") {}
  ConfigValue(bool flag) : text_(flag ? "true" : "false") {}
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  ConfigValue(Number number) : text_(text_of(number)) {}
  ConfigValue(const char *text) : text_(text != nullptr ? quoted(text) : "null") {}
  ConfigValue(const std::string &text) : text_(quoted(text)) {}
  ConfigValue(const Shape &sizes) : text_(list(sizes)) {}
  ConfigValue(std::initializer_list<int64_t> sizes) : text_(list(sizes)) {}

  // Takes finished JSON.
  [[nodiscard]] static ConfigValue json(std::string text) {
    ConfigValue value(nullptr);
    value.text_ = std::move(text);
    return value;
  }

  [[nodiscard]] const std::string &text() const noexcept { return text_; }

  [[nodiscard]] static std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char letter : text) {
      if (letter == '"' || letter == '\\') result += '\\';
      if (static_cast<unsigned char>(letter) < 0x20) {
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(letter));
        result += escape;
      } else {
        result += letter;
      }
    }
    return result + '"';
  }

 private:
  template <class Number>
  static std::string text_of(Number number) {
    if constexpr (std::is_integral_v<Number>) {
      return std::to_string(number);
    } else {
      const auto value = static_cast<double>(number);
      if (!std::isfinite(value))
        return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
      // Independent of the locale: JSON has points.
      char text[32];
      return {text, std::to_chars(text, text + sizeof text, value).ptr};
    }
  }

  template <class Sizes>
  static std::string list(const Sizes &sizes) {
    std::string text = "[";
    for (const int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + "]";
  }

  std::string text_;
};

// {"class_name": ..., "config": {...}}: a layer, an optimizer, a loss, an initializer.
class Described {
 public:
  explicit Described(std::string class_name) : class_name_(std::move(class_name)) {}

  // Sets any field of the configuration in Keras. The last value of a field counts.
  void set_field(const std::string &key, const ConfigValue &value) {
    for (auto &field : fields_)
      if (field.first == key) {
        field.second = value.text();
        return;
      }
    fields_.emplace_back(key, value.text());
  }
  // Returns a field as JSON. Empty if the field is not set.
  [[nodiscard]] std::string field(const std::string &key) const {
    for (const auto &field : fields_)
      if (field.first == key) return field.second;
    return {};
  }

  [[nodiscard]] const std::string &class_name() const noexcept { return class_name_; }
  [[nodiscard]] std::string config() const {
    std::string text = "{";
    for (const auto &field : fields_)
      text +=
          (text.size() > 1 ? ", " : "") + ConfigValue::quoted(field.first) + ": " + field.second;
    return text + "}";
  }
  [[nodiscard]] std::string json() const {
    return "{\"class_name\": " + ConfigValue::quoted(class_name_) + ", \"config\": " + config() +
           "}";
  }

 private:
  std::string class_name_;
  std::vector<std::pair<std::string, std::string>> fields_;
};

}  // namespace nn
}  // namespace v1
}  // namespace det
