#include <cmath>
#include <limits>
#include <string>

#include "core/tensorboard/event.h"
#include "tests/cmocka.h"
#include "tests/tensorboard/event_reader.h"

namespace {

using namespace det;
using namespace det::tensorboard;

void version_event_has_its_known_bytes(void **) {
  std::string record;
  append_version_event(record, 0);
  const std::string payload = std::string("\x09\0\0\0\0\0\0\0\0\x1a\x0d", 11) + "brain.Event:2";
  assert_int_equal(record.size(), 8 + 4 + payload.size() + 4);
  assert_equal(record.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  assert_equal(record.substr(12, payload.size()), payload);
  assert_string_equal(read_records(record).at(0).file_version.c_str(), "brain.Event:2");
}

void scalars_read_back_the_same(void **) {
  const std::string long_tag(5000, 'x');
  std::string records;
  append_scalar_event(records, 1700000000.25, 7, "loss", 0.5F);
  append_scalar_event(records, 0, -3, long_tag, -1e-30F);
  append_scalar_event(records, 0, std::numeric_limits<int64_t>::max(), "", 0);
  const auto events = read_records(records);
  assert_int_equal(events.size(), 3);
  assert_equal(events[0].wall_time, 1700000000.25);
  assert_equal(events[0].step, 7);
  assert_equal(events[0].tag, "loss");
  assert_equal(events[0].value, 0.5F);
  assert_equal(events[1].step, -3);
  assert_equal(events[1].tag, long_tag);
  assert_equal(events[1].value, -1e-30F);
  assert_equal(events[2].step, std::numeric_limits<int64_t>::max());
  assert_equal(events[2].value, 0.0F);
}

void non_finite_values_are_written_as_such(void **) {
  std::string records;
  append_scalar_event(records, 0, 1, "a", std::numeric_limits<float>::quiet_NaN());
  append_scalar_event(records, 0, 1, "a", -std::numeric_limits<float>::infinity());
  const auto events = read_records(records);
  assert_true(std::isnan(*events.at(0).value));
  assert_equal(*events.at(1).value, -std::numeric_limits<float>::infinity());
}

}  // namespace

int test_event() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(version_event_has_its_known_bytes),
      cmocka_unit_test(scalars_read_back_the_same),
      cmocka_unit_test(non_finite_values_are_written_as_such),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
