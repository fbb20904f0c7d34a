// The hash of maps and sets by strings that are asked with views, so that asking makes no copy.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace det {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace det
