// The members of a credentials file.
#pragma once

#include <string>

#include "core/base/json_fwd.h"

namespace det::cloud {

// Throws Code::access; `why` must hold no secret.
[[noreturn]] void refuse_credentials(const std::string &file, const std::string &why);

std::string required_text(const Json &content, const char *member, const std::string &file);
std::string optional_text(const Json &content, const char *member);  // empty: absent

}  // namespace det::cloud
