// Checksums as stores list them.
#include "core/cloud/checksum.h"

#include <fcntl.h>

#include <fstream>
#include <memory>

#include "core/base/crc32c.h"
#include "core/base/file.h"
#include "core/cloud/checkpoints/object_transfer.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

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

// The parts of a file are known once it was read that far, each by itself.
void running_checksum_knows_the_parts_it_has_read(void **) {
  const TemporaryDirectory directory;
  const std::string bytes = "0123456789";
  std::ofstream(directory / "file") << bytes;
  const auto file = std::make_shared<const Fd>(open_file(directory / "file", O_RDONLY));
  RunningChecksum running(file, bytes.size(), "the test's file", 4);
  running.advance(6);
  assert_equal(running.crc32c_of(0).value(), det::crc32c("0123"));
  assert_false(running.crc32c_of(4).has_value());
  const uint64_t whole = running.value();
  assert_equal(running.crc32c_of(4).value(), det::crc32c("4567"));
  assert_equal(running.crc32c_of(8).value(), det::crc32c("89"));
  assert_equal(RunningChecksum(file, bytes.size(), "the test's file").value(), whole);
}

}  // namespace

int test_checksum() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(checksum_of_a_range_is_that_of_its_bytes),
      cmocka_unit_test(text_is_the_stores),
      cmocka_unit_test(joined_is_that_of_the_whole),
      cmocka_unit_test(running_checksum_knows_the_parts_it_has_read),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
