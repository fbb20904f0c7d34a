#include "wrappers/keras/run/core_calls.h"

#include <cmath>

#include "core/base/error.h"

namespace det::keras {

namespace {

void append(std::string &text, const Json &value) {
  if (value.is_structured() && !value.empty()) {
    text += value.is_object() ? '{' : '[';
    for (auto item = value.begin(); item != value.end(); ++item) {
      if (item != value.begin()) text += ',';
      if (value.is_object()) text += Json(item.key()).dump() + ':';
      append(text, *item);
    }
    text += value.is_object() ? '}' : ']';
  } else if (value.is_number_float()) {
    append_number(text, value.get<double>());
  } else {
    text += value.dump();
  }
}

}  // namespace

void throw_failure(const det_error &error) {
  throw Error(code_from(error.code), error.message, error.os_errno, error.http_status)
      .with_retry(error.retryable != 0);
}

std::string text_with_bare_numbers(const Json &value) {
  std::string text;
  append(text, value);
  return text;
}

}  // namespace det::keras
