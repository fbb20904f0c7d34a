// Where a call goes: its line in the table of the REST interface.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec/version.h"

namespace det::codec {

struct WireRequest {
  std::string method;
  std::string path;  // below the master's base address, percent-encoded
  std::string query;
  std::string body;  // empty: none is sent
};

struct WireResponse {
  int status = 0;
  std::string body;
};

struct Route {
  const char *what;  // for errors: "starting the run"
  const char *method;
  const char *path;  // "/api/v1/trials/{trial}/start"
  WireVersion since = WireVersion::v0_19;
  WireVersion until = WireVersion::v0_38;
  const char *old_path = nullptr;  // takes the place of `path` before `since`; served ever after
};

using Parameters = std::map<std::string, std::string>;  // by name, decoded

// Throws Code::invalid for a value that a master cannot route, naming `what`.
std::string expand_path(const char *pattern, const Parameters &values, const char *what);

// None where `path` is another one.
std::optional<Parameters> match_path(std::string_view pattern, std::string_view path);

std::string write_query(const Parameters &values);
Parameters read_query(std::string_view query);

// Throws Code::unsupported where masters of `version` do not have the call.
const char *path_in(const Route &route, WireVersion version);

}  // namespace det::codec
