#include "wrappers/nn/arrays/array_copy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "core/base/error.h"
#include "core/base/half.h"
#include "core/base/json.h"

namespace det::nn {

namespace {

// But for sizes of 1 at the end.
bool is_same_shape(const Shape &x, const Shape &y) {
  const auto is_one = [](int64_t size) { return size == 1; };
  const auto [x_rest, y_rest] = std::mismatch(x.begin(), x.end(), y.begin(), y.end());
  return std::all_of(x_rest, x.end(), is_one) && std::all_of(y_rest, y.end(), is_one);
}

std::string source_named(std::string_view what, std::string_view name) {
  return std::string(what) + (name.empty() ? "" : " '" + std::string(name) + "'");
}

// What an integer cannot hold becomes its largest or smallest number, which is no label and no id,
// rather than another one that is.
template <class To, class From>
To converted(From value) {
  if constexpr (std::is_integral_v<To>) {
    using Limits = std::numeric_limits<To>;
    if constexpr (std::is_floating_point_v<From>) {
      if (!(value > static_cast<From>(Limits::min()))) return Limits::min();
      if (value >= static_cast<From>(Limits::max())) return Limits::max();
    } else {
      if (std::cmp_less(value, Limits::min())) return Limits::min();
      if (std::cmp_greater(value, Limits::max())) return Limits::max();
    }
  }
  return static_cast<To>(value);
}

template <class From, class To>
void convert(const Array &from, const Array &to) {
  const auto *first = static_cast<const From *>(from.raw());
  std::transform(first, first + from.size(), to.data<To>(),
                 [](From value) { return converted<To>(value); });
}

template <class To>
void convert_halves(const Array &from, const Array &to, float (*widen)(uint16_t)) {
  const auto *first = static_cast<const uint16_t *>(from.raw());
  std::transform(first, first + from.size(), to.data<To>(),
                 [widen](uint16_t half) { return converted<To>(widen(half)); });
}

template <class To>
bool convert_to(const Array &from, const Array &to) {
  switch (from.dtype()) {
    case Dtype::f32:
      convert<float, To>(from, to);
      return true;
    case Dtype::f64:
      convert<double, To>(from, to);
      return true;
    case Dtype::f16:
      convert_halves<To>(from, to, from_half);
      return true;
    case Dtype::bf16:
      convert_halves<To>(from, to, from_bf16);
      return true;
    case Dtype::i8:
      convert<int8_t, To>(from, to);
      return true;
    case Dtype::boolean:
    case Dtype::u8:
      convert<uint8_t, To>(from, to);
      return true;
    case Dtype::i16:
      convert<int16_t, To>(from, to);
      return true;
    case Dtype::i32:
      convert<int32_t, To>(from, to);
      return true;
    case Dtype::i64:
      convert<int64_t, To>(from, to);
      return true;
    default:
      return false;
  }
}

template <class Number>
std::string number_text(Number value) {
  std::string text;
  append_number(text, static_cast<double>(value));
  return text;
}

}  // namespace

std::string element_text(const Array &array, size_t index) {
  const auto at = [&]<class Number>(Number) {
    return static_cast<const Number *>(array.raw())[index];
  };
  switch (array.dtype()) {
    case Dtype::f32:
      return number_text(at(float{}));
    case Dtype::f64:
      return number_text(at(double{}));
    case Dtype::f16:
      return number_text(from_half(at(uint16_t{})));
    case Dtype::bf16:
      return number_text(from_bf16(at(uint16_t{})));
    case Dtype::i64:
      return std::to_string(at(int64_t{}));
    default: {
      const Array one({{1}, Dtype::i32});
      const size_t bytes = tensors::bits_of(array.dtype()) / 8;
      copy_elements(Array::borrowed({{1}, array.dtype()},
                                    static_cast<std::byte *>(array.raw()) + index * bytes),
                    one, "an element");
      return std::to_string(one.data<int32_t>()[0]);
    }
  }
}

void copy_elements(const Array &from, const Array &to, std::string_view what,
                   std::string_view name) {
  if (!is_same_shape(from.shape(), to.shape()))
    throw Error(Code::invalid, source_named(what, name) + " has the shape " +
                                   text_of(from.shape()) + ", where " + text_of(to.shape()) +
                                   " is expected");
  if (from.dtype() == to.dtype()) {
    std::memcpy(to.raw(), from.raw(), from.bytes());
    return;
  }
  const bool is_known =
      to.dtype() == Dtype::i32 ? convert_to<int32_t>(from, to) : convert_to<float>(from, to);
  if (!is_known)
    throw Error(Code::unsupported, source_named(what, name) + " is an array of " +
                                       tensors::name_of(from.dtype()) +
                                       ", which models do not take; F32, F64, F16, BF16, "
                                       "BOOL and whole numbers are taken");
}

}  // namespace det::nn
