// A core over a store in a directory that is gone afterwards.
#pragma once

#include <det/core.hpp>
#include <string>

#include "tests/assert_equal.h"
#include "tests/temporary_directory.h"

namespace cpp_test {

struct Place {
  det::TemporaryDirectory home;

  det::CoreOptions options() const {
    det::CoreOptions options;
    options.master = home.path().string();
    options.log = [](const det::LogLine &) {};
    return options;
  }
  det::Client client() const {
    det::ClientOptions options;
    options.master = home.path().string();
    return det::Client::open(options);
  }
};

struct Run : Place {
  det::Core core;

  explicit Run(det::CoreOptions more = {}) {
    more.master = home.path().string();
    if (!more.log) more.log = [](const det::LogLine &) {};
    core = det::Core::init(more);
  }
  int64_t trial() const { return core.info().trial_id(); }
};

// Runs `action`, which must throw det::Error of `code`; gives its message.
template <class Action>
std::string expect_error(det::Code code, Action &&action) {
  try {
    action();
  } catch (const det::Error &error) {
    assert_equal(error.code(), code);
    return error.what();
  }
  fail_msg("nothing was thrown");
  return "";
}

// Runs `action`, which must throw a `Thrown`.
template <class Thrown, class Action>
void assert_throws(Action &&action) {
  try {
    action();
  } catch (const Thrown &) {
    return;
  }
  fail_msg("nothing was thrown");
}

inline void expect_part(const std::string &text, const std::string &part) {
  if (text.find(part) == text.npos) fail_msg("'%s' is not in '%s'", part.c_str(), text.c_str());
}

}  // namespace cpp_test
