// What proves who sent something, and that it came whole.
#pragma once

#include <string>
#include <string_view>

#include "core/cloud/byte_range.h"

namespace det::cloud {

// All as bytes.
std::string md5(std::string_view text);
std::string md5(ByteRange &bytes);
std::string sha1(std::string_view text);
std::string sha256(std::string_view text);
std::string sha256(ByteRange &bytes);
std::string hmac_sha256(std::string_view key, std::string_view text);

// As hexadecimal digits, in small letters.
std::string to_hex(std::string_view bytes);

}  // namespace det::cloud
