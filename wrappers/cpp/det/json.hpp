// JSON as text, in and out. det/nlohmann_json.hpp also accepts and returns values of that library.
#pragma once

#include <det/detail/handle.hpp>
#include <det/error.hpp>

#include <string>
#include <utility>

namespace det {
inline namespace v1 {

// Converts between values of a JSON library and text. Specialise it for a library with
//   static std::string dump(const Value &);
//   static Value parse(const std::string &);
template <class Value>
struct JsonTraits;

class Json {
 public:
  Json() = default;  // none
  Json(const char *text) : text_(text != nullptr ? text : "") {}
  Json(std::string text) noexcept : text_(std::move(text)) {}
  template <class Value, class = decltype(JsonTraits<Value>::dump(std::declval<const Value &>()))>
  Json(const Value &value) : text_(JsonTraits<Value>::dump(value)) {}

  [[nodiscard]] const std::string &text() const &noexcept { return text_; }
  [[nodiscard]] std::string text() &&noexcept { return std::move(text_); }

  // Converts to a value of a JSON library.
  template <class Value>
  [[nodiscard]] Value as() const {
    return JsonTraits<Value>::parse(text_);
  }

  [[nodiscard]] const char *capi() const noexcept { return detail::null_if_empty(text_); }

 private:
  std::string text_;
};

namespace detail {

// Calls a function that returns JSON before its det_error.
template <class Function, class... Arguments>
Json answer(OnFailure on, Function *function, Arguments... arguments) {
  char *text = nullptr;
  call(on, function, arguments..., &text);
  return taken(text);
}

}  // namespace detail
}  // namespace v1
}  // namespace det
