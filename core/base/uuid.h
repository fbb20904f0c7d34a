#pragma once

#include <string>

namespace det {

// A random UUID of version 4: 36 characters, lower case.
std::string make_uuid();

}  // namespace det
