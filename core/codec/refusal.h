// What a master answers when it does not do what it was asked.
#pragma once

#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/codec/route.h"

namespace det::codec {

struct Refusal {
  int http_status = 0;
  int code = 0;        // gRPC's; 0 where the answer has none
  std::string reason;  // its name, "NotFound"; empty where the answer has none
  std::string message;
};

// Understands every form in use, and any other body, such as a proxy's page, as a plain message.
Refusal read_refusal(const WireResponse &answer);

// As the error of a call that `what` names. A 500 becomes Code::state: masters give it for mistakes
// such as a stale run or a repeated operation, so trying again does not help.
[[noreturn]] void throw_refusal(const std::string &what, const Refusal &refusal);

// A server's answer to a request that ended in `error`. `is_plain`: outside of /api.
WireResponse write_refusal(const Error &error, bool is_plain);

// On one line of well-formed UTF-8, short, and with every token in it masked.
std::string for_people(std::string_view text);

}  // namespace det::codec
