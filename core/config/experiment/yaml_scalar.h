// What a YAML 1.1 scalar means.
#pragma once

#include <optional>
#include <string>

#include "core/base/json_fwd.h"

namespace det::config {

// An unquoted scalar: null, true or false, a number, else the text itself. None for NaN and the
// infinities, which JSON cannot hold.
std::optional<Json> resolve_plain_scalar(const std::string &text);

// An unquoted scalar with a tag of YAML's own, such as "int" for !!int. None for what is no such
// thing, and as above.
std::optional<Json> resolve_tagged_scalar(const std::string &tag, const std::string &text);

// A number as JSON readers see it that know doubles only: whole when it is, as far as an int64_t
// reaches.
Json number_as_double(double value);

}  // namespace det::config
