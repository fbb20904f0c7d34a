// From a call to what goes over the wire and back. A call is a struct with a `route`, the list of
// its fields and its Response; `version` is the master's.
//
//   WireRequest request = write_request(StartRun{.run_id = 7}, version);
//   StartRun::Response answer = read_response<StartRun>({status, body}, version);
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/fields.h"
#include "core/codec/refusal.h"
#include "core/codec/route.h"

namespace det::codec {

// The answer of calls that only confirm.
struct Nothing {
  void fields(Fields &) {}
};

template <class Response>
constexpr bool comes_in_parts = requires {
  Response::comes_in_parts;
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

// What lists the fields of a message.
using FieldList = std::function<void(Fields &)>;

// What the functions below do for any call. Where an answer comes in parts, these are lines of
// {"result": ...} over the wire, and one list here.
WireRequest write_message(const Route &route, WireVersion version, const FieldList &list);
void read_message(WireMessage &message, std::string_view body, const FieldList &list);
std::string write_response(const Route &route, WireVersion version, bool in_parts,
                           const FieldList &list);
void read_response(const Route &route, const WireResponse &answer, WireVersion version,
                   bool in_parts, const FieldList &list);

// Throws Code::unsupported where masters of `version` do not have the call.
template <class Call>
WireRequest write_request(Call call, WireVersion version) {
  return write_message(Call::route, version, [&](Fields &f) { call.fields(f); });
}

// None where the request is another call, or one that masters of `version` do not have. Throws
// Code::invalid for one that is not understood. Nothing is quoted of it: it may hold tokens.
template <class Call>
std::optional<Call> read_request(const WireRequest &request, WireVersion version) {
  std::optional<WireMessage> message = take_request(Call::route, request, version);
  if (!message) return std::nullopt;
  std::optional<Call> call(std::in_place);
  read_message(*message, request.body, [&](Fields &f) { call->fields(f); });
  return call;
}

template <class Call>
std::string write_response(typename Call::Response answer, WireVersion version) {
  return write_response(Call::route, version, comes_in_parts<typename Call::Response>,
                        [&](Fields &f) { answer.fields(f); });
}

// Throws a refusal as throw_refusal() does, also in the midst of parts, and Code::corrupt for an
// answer that is not understood.
template <class Call>
typename Call::Response read_response(const WireResponse &answer, WireVersion version) {
  typename Call::Response result;
  read_response(Call::route, answer, version, comes_in_parts<typename Call::Response>,
                [&](Fields &f) { result.fields(f); });
  return result;
}

}  // namespace det::codec
