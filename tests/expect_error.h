#pragma once

#include <string>

#include "core/base/error.h"
#include "tests/cmocka.h"

namespace det {

// Runs `action`, which must throw an Error of `code`. Gives its message.
template <class Action>
std::string expect_error(Code code, Action action) {
  std::string message;
  int thrown = 0;
  try {
    action();
  } catch (const Error &e) {
    thrown = static_cast<int>(e.code);
    message = e.what();
  }
  if (thrown != static_cast<int>(code))
    print_error("expected another error: %s\n", message.c_str());
  assert_int_equal(thrown, static_cast<int>(code));
  return message;
}

inline bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != text.npos;
}

}  // namespace det
