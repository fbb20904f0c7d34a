// assert_equal(a, b): fails where a == b is false, and prints both.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <ranges>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/cmocka.h"

namespace det::test {

template <class T>
concept Number = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// As text for whoever reads the failure.
template <class T>
std::string described(const T &value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::same_as<T, std::nullptr_t> || std::same_as<T, std::nullopt_t>) {
    return "nothing";
  } else if constexpr (std::is_arithmetic_v<T>) {
    std::ostringstream out;
    out.precision(17);
    out << +value;
    return out.str();
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<int64_t>(value));
  } else if constexpr (std::same_as<T, std::filesystem::path>) {
    return described(value.string());
  } else if constexpr (std::convertible_to<const T &, std::string_view>) {
    return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (requires { value.dump(); }) {
    return value.dump();  // JSON
  } else if constexpr (requires { value.has_value(); }) {
    return value ? described(*value) : "nothing";
  } else if constexpr (requires { value.time_since_epoch(); }) {
    return described(value.time_since_epoch());
  } else if constexpr (requires {
                         value.count();
                         typename T::period;
                       }) {
    return described(value.count());
  } else if constexpr (std::ranges::input_range<const T>) {
    std::string text;
    for (const auto &item : value) text += (text.empty() ? "" : ", ") + described(item);
    return "[" + text + "]";
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::string text;
    const auto add = [&](const auto &item) {
      text += (text.empty() ? "" : ", ") + described(item);
    };
    std::apply([&](const auto &...items) { (add(items), ...); }, value);
    return "(" + text + ")";
  } else {
    return "something";
  }
}

template <class A, class B>
bool are_equal(const A &a, const B &b) {
  if constexpr (Number<A> && Number<B>) return std::cmp_equal(a, b);
  else return a == b;
}

template <class A, class B>
void check_equal(const char *text, const char *file, int line, const A &a, const B &b) {
  if (are_equal(a, b)) return;
  print_error("not equal: %s\n  %s\n  %s\n", text, described(a).c_str(), described(b).c_str());
  _fail(file, line);
}

}  // namespace det::test

// The commas of a braced list in it are no separators.
#define assert_equal(...) det::test::check_equal(#__VA_ARGS__, __FILE__, __LINE__, __VA_ARGS__)
