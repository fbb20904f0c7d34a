// Records as bytes: what goes in comes out, and damage is found.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/journal/record.h"
#include "core/journal/report_names.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace det::journal {
namespace {

constexpr uint64_t base = 4096;

// A segment in memory. Aligned, because vectors of uint64_t are.
class Bytes {
 public:
  std::byte *data() { return reinterpret_cast<std::byte *>(words_.data()); }
  static constexpr uint64_t size = 4096;
  RecordCursor cursor() { return {data(), size, base, 0}; }

  // Gives the offset behind it.
  uint64_t add(uint64_t at, const RecordContent &content) {
    write_record(data() + at, content, base + at, 7);
    return at + record_size(content);
  }

 private:
  std::vector<uint64_t> words_ = std::vector<uint64_t>(size / 8);
};

RecordContent status(std::string_view text) { return {.kind = ReportKind::status, .text = text}; }

std::vector<std::string> texts_left_behind(RecordCursor cursor, uint64_t *skipped = nullptr) {
  std::vector<std::string> texts;
  Report report;
  while (cursor.next_left_behind(report) == RecordCursor::Step::record)
    texts.emplace_back(report.text);
  if (skipped != nullptr) *skipped = cursor.skipped_bytes();
  return texts;
}

void metrics_come_back_bit_for_bit(void **) {
  const double payload_nan = std::bit_cast<double>(uint64_t{0x7FF8'0000'DEAD'BEEF});
  const std::vector<NamedValue> values{
      {"loss", 0.1},     {"nan", payload_nan},
      {"inf", HUGE_VAL}, {"-inf", -HUGE_VAL},
      {"zero", -0.0},    {"größe", std::numeric_limits<double>::denorm_min()}};
  std::vector<uint8_t> sizes(values.size());
  check_names(values.data(), values.size(), sizes.data());
  Bytes bytes;
  bytes.add(0, {.steps = -3,
                .group = "training",
                .values = values.data(),
                .name_sizes = sizes.data(),
                .count = values.size()});
  Report report;
  RecordCursor cursor = bytes.cursor();
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(cursor.next(report), RecordCursor::Step::unpublished);
  assert_int_equal(report.sequence, base);
  assert_int_equal(report.time_us, 7);
  assert_int_equal(report.steps, -3);
  assert_equal(report.group, "training");
  assert_int_equal(report.values.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    assert_equal(report.values[i].name, values[i].name);
    assert_memory_equal(&report.values[i].value, &values[i].value, sizeof(double));
  }
}

void every_kind_comes_back(void **) {
  Bytes bytes;
  uint64_t at = bytes.add(0, {.kind = ReportKind::metrics_json,
                              .steps = 9,
                              .group = "g",
                              .text = "{\"a\":[1]}",
                              .batches = "[{}]"});
  at = bytes.add(at, status("validating"));
  at = bytes.add(at, {.kind = ReportKind::progress, .number = 0.25});
  at = bytes.add(at, {.kind = ReportKind::log, .level = 3, .text = ""});
  bytes.add(at, {.group = "empty"});
  RecordCursor cursor = bytes.cursor();
  Report report;
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.kind, ReportKind::metrics_json);
  assert_equal(report.steps, 9);
  assert_equal(report.group, "g");
  assert_equal(report.text, "{\"a\":[1]}");
  assert_equal(report.batches, "[{}]");
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.kind, ReportKind::status);
  assert_equal(report.text, "validating");
  assert_true(report.group.empty());
  assert_true(report.batches.empty());
  assert_equal(report.steps, 0);
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.kind, ReportKind::progress);
  assert_equal(report.number, 0.25);
  assert_equal(report.steps, 0);
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.kind, ReportKind::log);
  assert_equal(report.level, 3);
  assert_true(report.text.empty());
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.kind, ReportKind::metrics);
  assert_true(report.values.empty());
  assert_equal(report.group, "empty");
}

void torn_tail_is_cut_at_every_byte(void **) {
  Bytes whole;
  const uint64_t first = whole.add(0, status("first"));
  const uint64_t last = whole.add(first, status("the last one, which is torn"));
  for (uint64_t cut = first; cut < last - 7; ++cut) {
    Bytes torn = whole;
    std::memset(torn.data() + cut, 0, Bytes::size - cut);
    assert_equal(texts_left_behind(torn.cursor()), std::vector<std::string>{"first"});
  }
}

// Bytes that were never written back may be lost from the front of a record, too.
void tail_without_its_first_bytes_is_cut(void **) {
  Bytes whole;
  const uint64_t first = whole.add(0, status("first"));
  const uint64_t last = whole.add(first, status("the last one, which is torn"));
  for (uint64_t begin = first + 1; begin < last - 7; ++begin) {
    Bytes torn = whole;
    std::memset(torn.data() + first, 0, begin - first);
    assert_equal(texts_left_behind(torn.cursor()), std::vector<std::string>{"first"});
  }
}

void hole_in_the_middle_is_skipped(void **) {
  Bytes bytes;
  uint64_t at = bytes.add(0, status("before"));
  at += record_size(status("never published"));
  bytes.add(at, status("behind"));
  uint64_t skipped = 0;
  assert_equal(texts_left_behind(bytes.cursor(), &skipped),
               (std::vector<std::string>{"before", "behind"}));
  assert_int_equal(skipped, record_size(status("never published")));
}

void hole_is_waited_for_while_the_writer_lives(void **) {
  Bytes bytes;
  const uint64_t first = bytes.add(0, status("before"));
  const uint64_t behind = first + record_size(status("slow"));
  bytes.add(behind, status("behind"));
  RecordCursor cursor = bytes.cursor();
  Report report;
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(cursor.next(report), RecordCursor::Step::unpublished);
  bytes.add(first, status("slow"));
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.text, "slow");
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(report.text, "behind");
}

void every_flipped_bit_costs_one_record_only(void **) {
  Bytes whole;
  const uint64_t first = whole.add(0, status("first"));
  const uint64_t second = whole.add(first, status("second!!"));  // without padding
  const uint64_t third = whole.add(second, status("third"));
  write_seal(whole.data() + third, base + third);
  for (uint64_t bit = first * 8; bit < second * 8; ++bit) {
    Bytes flipped = whole;
    flipped.data()[bit / 8] ^= std::byte{1} << (bit % 8);
    uint64_t skipped = 0;
    assert_equal(texts_left_behind(flipped.cursor(), &skipped),
                 (std::vector<std::string>{"first", "third"}));
    assert_int_equal(skipped, second - first);
  }
}

void seal_forged_by_a_text_does_not_end_a_damaged_segment(void **) {
  Bytes bytes;
  constexpr uint64_t text_begins = 48;
  write_seal(bytes.data() + text_begins, base + text_begins);
  const std::string forged(reinterpret_cast<const char *>(bytes.data() + text_begins), 8);
  const uint64_t first = bytes.add(0, status(forged));
  bytes.add(first, status("behind"));
  bytes.data()[20] ^= std::byte{1};
  assert_equal(texts_left_behind(bytes.cursor()), std::vector<std::string>{"behind"});
}

void record_counts_only_where_it_was_written(void **) {
  Bytes bytes;
  const uint64_t end = bytes.add(0, status("here"));
  std::memcpy(bytes.data() + end, bytes.data(), end);
  assert_equal(texts_left_behind(bytes.cursor()), std::vector<std::string>{"here"});
}

void seal_ends_a_segment(void **) {
  Bytes bytes;
  const uint64_t end = bytes.add(0, status("last"));
  write_seal(bytes.data() + end, base + end);
  RecordCursor cursor = bytes.cursor();
  Report report;
  assert_equal(cursor.next(report), RecordCursor::Step::record);
  assert_equal(cursor.next(report), RecordCursor::Step::end);
  assert_int_equal(cursor.position(), base + Bytes::size);
}

void record_beyond_the_limit_is_refused(void **) {
  const std::string text(max_record_size, 'x');
  expect_error(Code::invalid, [&] { record_size(status(text)); });
  const std::string group(256, 'g');
  expect_error(Code::invalid, [&] { record_size({.group = group}); });
}

void names_are_checked(void **) {
  std::vector<uint8_t> sizes(1000);
  const auto check = [&](std::vector<NamedValue> values) {
    check_names(values.data(), values.size(), sizes.data());
  };
  const std::string longest(255, 'n');
  const std::string too_long(256, 'n');
  check({{longest.c_str(), 1}, {"\xF0\x9F\x98\x80", 2}});
  assert_int_equal(sizes[0], 255);
  assert_int_equal(sizes[1], 4);
  assert_true(contains(expect_error(Code::invalid,
                                    [&] {
                                      check({{"a", 1}, {nullptr, 1}});
                                    }),
                       "value 1 is NULL"));
  assert_true(contains(expect_error(Code::invalid, [&] { check({{"", 1}}); }), "empty"));
  assert_true(contains(expect_error(Code::invalid,
                                    [&] {
                                      check({{too_long.c_str(), 1}});
                                    }),
                       "longer than 255 bytes"));
  for (const char *wrong :
       {"\x80", "abcdefgh\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"})
    assert_true(contains(expect_error(Code::invalid, [&] { check({{wrong, 1}}); }), "not UTF-8"));
  assert_true(contains(expect_error(Code::invalid,
                                    [&] {
                                      check({{"a", 1}, {"b", 1}, {"a", 2}});
                                    }),
                       "'a'"));
}

void repeated_name_among_many_is_found(void **) {
  std::vector<std::string> names(1000);
  std::vector<NamedValue> values(names.size());
  std::vector<uint8_t> sizes(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    names[i] = "n" + std::to_string(i);
    values[i] = {names[i].c_str(), 0};
  }
  check_names(values.data(), values.size(), sizes.data());
  values[999].name = "n500";
  assert_true(contains(
      expect_error(Code::invalid, [&] { check_names(values.data(), values.size(), sizes.data()); }),
      "'n500'"));
}

}  // namespace
}  // namespace det::journal

int test_record() {
  using namespace det::journal;
  const CMUnitTest tests[] = {
      cmocka_unit_test(metrics_come_back_bit_for_bit),
      cmocka_unit_test(every_kind_comes_back),
      cmocka_unit_test(torn_tail_is_cut_at_every_byte),
      cmocka_unit_test(tail_without_its_first_bytes_is_cut),
      cmocka_unit_test(hole_in_the_middle_is_skipped),
      cmocka_unit_test(hole_is_waited_for_while_the_writer_lives),
      cmocka_unit_test(every_flipped_bit_costs_one_record_only),
      cmocka_unit_test(seal_forged_by_a_text_does_not_end_a_damaged_segment),
      cmocka_unit_test(record_counts_only_where_it_was_written),
      cmocka_unit_test(seal_ends_a_segment),
      cmocka_unit_test(record_beyond_the_limit_is_refused),
      cmocka_unit_test(names_are_checked),
      cmocka_unit_test(repeated_name_among_many_is_found),
  };
  return cmocka_run_group_tests_name("record", tests, nullptr, nullptr);
}
