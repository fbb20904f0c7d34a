// Hashes that nobody can forge, by OpenSSL.
#pragma once

#include <array>
#include <string_view>

namespace det {

using Sha256 = std::array<unsigned char, 32>;
using Sha512 = std::array<unsigned char, 64>;

// Each throws Code::internal where OpenSSL does not offer it, and what crypto_library() throws.
Sha256 sha256(std::string_view bytes);
Sha512 sha512(std::string_view bytes);
Sha256 hmac_sha256(std::string_view key, std::string_view bytes);

// Takes as long whether they differ early or late; of one size.
bool is_same_secret(std::string_view a, std::string_view b);

}  // namespace det
