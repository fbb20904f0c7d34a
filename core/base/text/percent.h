// Text in URLs.
#pragma once

#include <string>
#include <string_view>

namespace det {

// As %XX but for letters, digits, "-._~" and what `kept` names besides, such as "/".
std::string percent_encoded(std::string_view text, std::string_view kept = "");

// A '%' that starts no code stays what it is.
std::string percent_decoded(std::string_view text);

}  // namespace det
