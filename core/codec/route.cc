#include "core/codec/route.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/text/percent.h"

namespace det::codec {

namespace {

// Cuts the text up to `separator` off `rest`.
std::string_view next_part(std::string_view &rest, char separator) {
  const std::string_view part = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(part.size() + 1, rest.size()));
  return part;
}

}  // namespace

std::string expand_path(const char *pattern, const Parameters &values, const char *what) {
  std::string out;
  for (std::string_view rest = pattern; !rest.empty();) {
    const size_t open = rest.find('{');
    out += rest.substr(0, open);
    if (open == rest.npos) break;
    rest.remove_prefix(open + 1);
    const std::string name(next_part(rest, '}'));
    const std::string &value = values.at(name);
    // Masters route on the decoded path, and take what follows a colon for a verb.
    if (value.empty() || value == "." || value == ".." ||
        value.find_first_of(std::string_view("/:\0", 3)) != value.npos)
      throw Error(Code::invalid, std::string(what) + ": the id of the " + name +
                                     " must not be empty, '.' or '..', nor contain '/' or ':'");
    out += percent_encoded(value);
  }
  return out;
}

std::optional<Parameters> match_path(std::string_view pattern, std::string_view path) {
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  Parameters values;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = next_part(pattern, '/');
    const std::string_view part = next_part(path, '/');
    const size_t open = expected.find('{');
    if (open == expected.npos) {
      if (part != expected) return std::nullopt;
      continue;
    }
    const size_t close = expected.find('}');
    const std::string_view suffix = expected.substr(close + 1);
    if (part.size() <= suffix.size() || !part.ends_with(suffix)) return std::nullopt;
    values.emplace(expected.substr(open + 1, close - open - 1),
                   percent_decoded(part.substr(0, part.size() - suffix.size())));
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return values;
}

std::string write_query(const Parameters &values) {
  std::string out;
  for (const auto &[name, value] : values)
    out += (out.empty() ? "" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  return out;
}

Parameters read_query(std::string_view query) {
  Parameters values;
  while (!query.empty()) {
    std::string_view value = next_part(query, '&');
    const std::string_view name = next_part(value, '=');
    values.insert_or_assign(percent_decoded(name), percent_decoded(value));
  }
  return values;
}

namespace {

std::string versions_of(const Route &route) {
  const std::string since = name_of(route.since);
  if (route.until == WireVersion::v0_38) return since + " or newer";
  return route.since == route.until ? since : since + " to " + name_of(route.until);
}

}  // namespace

const char *path_in(const Route &route, WireVersion version) {
  if (version < route.since && route.old_path != nullptr) return route.old_path;
  if (version < route.since || version > route.until)
    throw Error(Code::unsupported, std::string(route.what) + ": a master of version " +
                                       name_of(version) + " does not have this; use one of " +
                                       versions_of(route));
  return route.path;
}

}  // namespace det::codec
