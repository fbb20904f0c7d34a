// From a call to what goes over the wire and back. A call is a struct with a `route`, the list of
// its fields and its Answer; `version` is the master's.
//
//   WireRequest request = write_request(StartRun{.run_id = 7}, version);
//   StartRun::Answer answer = read_answer<StartRun>({status, body}, version);
#pragma once

#include <optional>
#include <utility>

#include "core/codec/fields.h"
#include "core/codec/refusal.h"
#include "core/codec/route.h"

namespace det::codec {

// The answer of calls that only confirm.
struct Nothing {
  void fields(Fields &) {}
};

// Throws Code::corrupt for an answer and Code::invalid for a request that is no JSON. Nothing is
// quoted of it: it may hold tokens.
Json read_body(const WireMessage &message, std::string_view body);

// Of an answer that comes in parts: lines of {"result": ...}, made one list, and back. Throws a
// refusal in their midst as throw_refusal() does.
Json read_parts(const WireMessage &message, const char *what, std::string_view body);
std::string write_parts(const Json &parts);

template <class Answer>
constexpr bool comes_in_parts = requires {
  Answer::comes_in_parts;
};

// Whether `request` is for this route: then with its parameters.
std::optional<WireMessage> take_request(const Route &route, const WireRequest &request,
                                        WireVersion version);

// Whether masters of `version` have the call.
template <class Call>
constexpr bool has_call(WireVersion version) {
  constexpr const Route &route = Call::route;
  return version <= route.until && (version >= route.since || route.old_path != nullptr);
}

template <class T>
void read_fields(WireMessage &message, Json &body, T &value) {
  Fields fields(message, body);
  value.fields(fields);
  if (!message.is_bare) fields.expect_object();
}

// Throws Code::unsupported where masters of `version` do not have the call.
template <class Call>
WireRequest write_request(Call call, WireVersion version) {
  const char *path = path_in(Call::route, version);
  WireMessage message{
      .what = Call::route.what, .version = version, .is_old_form = path == Call::route.old_path};
  Json body = Json::object();
  Fields fields(message, body);
  call.fields(fields);
  return {Call::route.method, expand_path(path, message.path, Call::route.what),
          write_query(message.query),
          message.is_bare || !body.empty() ? to_wire(body) : std::string()};
}

// None where the request is another call, or one that masters of `version` do not have.
template <class Call>
std::optional<Call> read_request(const WireRequest &request, WireVersion version) {
  std::optional<WireMessage> message = take_request(Call::route, request, version);
  if (!message) return std::nullopt;
  Json body = read_body(*message, request.body);
  std::optional<Call> call(std::in_place);
  read_fields(*message, body, *call);
  return call;
}

template <class Call>
std::string write_answer(typename Call::Answer answer, WireVersion version) {
  WireMessage message{.what = Call::route.what, .is_answer = true, .version = version};
  Json body = Json::object();
  Fields fields(message, body);
  answer.fields(fields);
  if constexpr (comes_in_parts<typename Call::Answer>) return write_parts(body);
  return to_wire(body);
}

// Throws a refusal as throw_refusal() does, and Code::corrupt for an answer that is not understood.
template <class Call>
typename Call::Answer read_answer(const WireAnswer &answer, WireVersion version) {
  if (answer.status != 200) throw_refusal(Call::route.what, read_refusal(answer));
  WireMessage message{.what = std::string(Call::route.what) + ": the master's answer",
                      .is_read = true,
                      .is_answer = true,
                      .version = version};
  Json body = comes_in_parts<typename Call::Answer>
                  ? read_parts(message, Call::route.what, answer.body)
                  : read_body(message, answer.body);
  typename Call::Answer result;
  read_fields(message, body, result);
  return result;
}

}  // namespace det::codec
