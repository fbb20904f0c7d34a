#pragma once

#include <array>
#include <string>

namespace det {

// A random UUID of version 4: 36 characters, lower case. Throws where the system gives nothing
// random.
std::string make_uuid();

// The UUID of version 4 that has these random bytes.
std::string uuid_of(std::array<unsigned char, 16> bytes);

}  // namespace det
