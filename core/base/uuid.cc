#include "core/base/uuid.h"

#include <sys/random.h>

#include <cerrno>

#include "core/base/error.h"

namespace det {

std::string make_uuid() {
  std::array<unsigned char, 16> bytes;
  // So few come all at once.
  while (getrandom(bytes.data(), bytes.size(), 0) < 0)
    if (errno != EINTR) OsFailure{errno}.raise("reading random bytes");
  return uuid_of(bytes);
}

std::string uuid_of(std::array<unsigned char, 16> bytes) {
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0fU) | 0x40U);  // version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3fU) | 0x80U);  // variant of RFC 4122
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits[bytes[i] >> 4U];
    text += digits[bytes[i] & 0x0fU];
  }
  return text;
}

}  // namespace det
