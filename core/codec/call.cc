#include "core/codec/call.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::codec {

namespace {

// Throws Code::corrupt for an answer and Code::invalid for a request that is no JSON.
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

// Throws a refusal in their midst as throw_refusal() does.
Json read_parts(const WireMessage &message, const char *what, std::string_view body) {
  Json parts = Json::array();
  while (!body.empty()) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    Json part = read_body(message, line);
    const auto result = part.find("result");
    if (result != part.end() && result->is_object()) {
      parts.push_back(std::move(*result));
      continue;
    }
    const auto error = part.find("error");
    if (error == part.end() || !error->is_object())
      throw Error(Code::corrupt,
                  message.what + ": a line of it has neither a 'result' nor an 'error'");
    const auto status = error->find("http_code");
    const bool has_status = status != error->end() && status->is_number_integer();
    throw_refusal(what, read_refusal({has_status ? status->get<int>() : 500, std::string(line)}));
  }
  return parts;
}

std::string write_parts(const Json &parts) {
  std::string body;
  for (const Json &part : parts) body += "{\"result\":" + to_wire(part) + "}\n";
  return body;
}

void read_fields(WireMessage &message, Json &body, const FieldList &list) {
  Fields fields(message, body);
  list(fields);
  if (!message.is_bare) fields.expect_object();
}

}  // namespace

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

WireRequest write_message(const Route &route, WireVersion version, const FieldList &list) {
  const char *path = path_in(route, version);
  WireMessage message{
      .what = route.what, .version = version, .is_old_form = path == route.old_path};
  Json body = Json::object();
  Fields fields(message, body);
  list(fields);
  return {route.method, expand_path(path, message.path, route.what), write_query(message.query),
          message.is_bare || !body.empty() ? to_wire(body) : std::string()};
}

void read_message(WireMessage &message, std::string_view body, const FieldList &list) {
  Json document = read_body(message, body);
  read_fields(message, document, list);
}

std::string write_response(const Route &route, WireVersion version, bool in_parts,
                           const FieldList &list) {
  WireMessage message{.what = route.what, .is_answer = true, .version = version};
  Json body = Json::object();
  Fields fields(message, body);
  list(fields);
  return in_parts ? write_parts(body) : to_wire(body);
}

void read_response(const Route &route, const WireResponse &answer, WireVersion version,
                   bool in_parts, const FieldList &list) {
  if (answer.status != 200) throw_refusal(route.what, read_refusal(answer));
  WireMessage message{.what = std::string(route.what) + ": the master's answer",
                      .is_read = true,
                      .is_answer = true,
                      .version = version};
  Json body =
      in_parts ? read_parts(message, route.what, answer.body) : read_body(message, answer.body);
  read_fields(message, body, list);
}

}  // namespace det::codec
