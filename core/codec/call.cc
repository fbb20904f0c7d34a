#include "core/codec/call.h"

#include "core/base/error.h"

namespace det {

Json read_body(const WireMessage &message, std::string_view body) {
  if (!message.is_answer && body.find_first_not_of(" \t\r\n") == body.npos) return Json::object();
  try {
    Json value = parse_json(body, "a body");
    // parse_json() also takes bare NaN, which no master sends or takes.
    const bool is_strict = body.find("NaN") == body.npos && body.find("Infinity") == body.npos;
    if (is_strict || Json::accept(body)) return value.is_null() ? Json::object() : value;
  } catch (const Error &) {
  }
  throw Error(message.is_answer ? Code::corrupt : Code::invalid,
              message.what + ": the body of " + std::to_string(body.size()) +
                  " bytes is not valid JSON of at most 128 levels");
}

std::optional<WireMessage> take_request(const Route &route, const WireRequest &request,
                                        WireVersion version) {
  if (request.method != route.method || version > route.until) return std::nullopt;
  WireMessage message{.what = route.what, .is_read = true, .version = version};
  std::optional<Parameters> found;
  if (version >= route.since) found = match_path(route.path, request.path);
  if (!found && route.old_path != nullptr) {
    found = match_path(route.old_path, request.path);
    message.is_old_form = true;
  }
  if (!found) return std::nullopt;
  message.path = std::move(*found);
  message.query = read_query(request.query);
  return message;
}

}  // namespace det
