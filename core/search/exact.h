// Numbers of JSON are doubles to many readers.
#pragma once

namespace det::search {

constexpr double largest_exact = 9007199254740992.0;  // beyond, a double skips integers

}  // namespace det::search
