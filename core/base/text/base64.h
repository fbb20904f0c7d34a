#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace det {

std::string to_base64(std::string_view bytes);

// Lines may end anywhere in it. Nothing where it is malformed.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace det
