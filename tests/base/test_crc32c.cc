#include "core/base/crc32c.h"

#include <numeric>
#include <string>

#include "tests/cmocka.h"

namespace {

using namespace det;

void assert_crc(std::string_view bytes, uint32_t expected) {
  assert_equal(crc32c(bytes), expected);
  assert_equal(crc32c_by_tables(bytes), expected);
}

// RFC 3720, B.4, and the check value of the CRC catalogues.
void crc_matches_published_vectors(void **) {
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  const std::string descending(ascending.rbegin(), ascending.rend());
  assert_crc(std::string(32, '\0'), 0x8a9136aa);
  assert_crc(std::string(32, '\xff'), 0x62a8ab43);
  assert_crc(ascending, 0x46dd794e);
  assert_crc(descending, 0x113fdb5c);
  assert_crc("123456789", 0xe3069283);
  assert_crc("", 0);
}

uint32_t by_definition(std::string_view bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0x82F63B78 : 0);
  }
  return ~crc;
}

void crc_agrees_with_the_definition_at_every_length_and_cut(void **) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    const uint32_t expected = by_definition(bytes);
    assert_crc(bytes, expected);
    const std::string_view first = std::string_view(bytes).substr(0, bytes.size() / 3);
    const std::string_view rest = std::string_view(bytes).substr(first.size());
    assert_equal(crc32c(rest, crc32c(first)), expected);
    assert_equal(crc32c_by_tables(rest, crc32c_by_tables(first)), expected);
    bytes += static_cast<char>(i * 37 + 200);
  }
}

}  // namespace

int test_crc32c() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(crc_matches_published_vectors),
      cmocka_unit_test(crc_agrees_with_the_definition_at_every_length_and_cut),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
