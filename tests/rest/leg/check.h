// What a call must give, else the leg ends.
#pragma once

#include <det/error.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace leg {

using Json = nlohmann::ordered_json;

constexpr int64_t long_enough_ms = 30'000;

[[noreturn]] inline void fail(const std::string &what) { throw std::runtime_error(what); }

// A det_error to hand to calls, and what is required of them.
class Checked {
 protected:
  void expect(det_status status, det_status expected) const {
    if (status == expected) return;
    fail(std::string("it gave ") + det_status_name(status) + " (" + error_.message +
         ") instead of " + det_status_name(expected));
  }
  void must(det_status status) const { expect(status, DET_OK); }

  det_error error_ = DET_ERROR_INIT;
};

}  // namespace leg
