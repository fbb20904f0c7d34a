// Checksums as stores list them.
#include "core/cloud/checksum.h"

#include "core/base/crc32c.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::cloud;

void checksum_of_a_range_is_that_of_its_bytes(void **) {
  const std::string bytes(300'000, 'x');
  TextRange range("the test's bytes", bytes);
  assert_equal(cloud::crc32c(range), det::crc32c(bytes));
  TextRange empty("nothing", "");
  assert_equal(cloud::crc32c(empty), 0);
}

void text_is_the_stores(void **) {
  assert_equal(crc32c_text(det::crc32c("123456789")), "4waSgw==");
  assert_equal(crc32c_in("4waSgw==").value(), 0xE3069283);
  for (const char *text : {"", "4waS", "4waSg===", "no base64", "4waSgwAA"})
    assert_false(crc32c_in(text).has_value());
}

void joined_is_that_of_the_whole(void **) {
  const std::string bytes = "what comes before and what comes behind";
  for (size_t first = 0; first <= bytes.size(); ++first) {
    const std::string_view all = bytes;
    assert_equal(joined_crc32c(det::crc32c(all.substr(0, first)), det::crc32c(all.substr(first)),
                               bytes.size() - first),
                 det::crc32c(bytes));
  }
}

}  // namespace

int test_checksum() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(checksum_of_a_range_is_that_of_its_bytes),
      cmocka_unit_test(text_is_the_stores),
      cmocka_unit_test(joined_is_that_of_the_whole),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
