// Lines of a file that grows.
#include <fcntl.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/launcher/log_follower.h"
#include "tests/cmocka.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::launcher;

struct Following {
  TemporaryDirectory directory;
  std::filesystem::path path = directory / "log";
  std::vector<std::string> lines;
  uint64_t offset = 0;
  int calls = 0;

  LogFollower follower(uint64_t from = 0) {
    return {path, from, [this](const std::vector<std::string> &more, uint64_t next) {
              lines.insert(lines.end(), more.begin(), more.end());
              offset = next;
              ++calls;
            }};
  }
  void print(const std::string &text) const {
    write_all(open_file(path, O_WRONLY | O_CREAT | O_APPEND).get(), text, "log");
  }
};

void assert_lines(Following &here, const std::vector<std::string> &expected) {
  assert_int_equal(here.lines.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    assert_string_equal(here.lines[i].c_str(), expected[i].c_str());
  here.lines.clear();
}

void complete_lines_come_as_they_are_written(void **) {
  Following here;
  LogFollower follower = here.follower();
  assert_false(follower.follow());
  here.print("one\n\ntw");
  follower.follow();
  assert_lines(here, {"one", ""});
  assert_int_equal(here.offset, 5);
  here.print("o\n");
  follower.follow();
  assert_lines(here, {"two"});
}

void nothing_is_handed_on_when_nothing_changed(void **) {
  Following here;
  LogFollower follower = here.follower();
  here.print("one\npart");
  follower.follow();
  for (int i = 0; i < 3; ++i) assert_false(follower.follow());
  assert_int_equal(here.calls, 1);
}

void following_goes_on_from_an_offset(void **) {
  Following here;
  here.print("one\ntwo\n");
  here.follower(4).follow();
  assert_lines(here, {"two"});
}

void last_line_needs_no_end_once_the_writer_is_gone(void **) {
  Following here;
  LogFollower follower = here.follower();
  here.print("one\nlast");
  follower.follow();
  assert_lines(here, {"one"});
  follower.finish();
  assert_lines(here, {"last"});
  follower.finish();
  assert_lines(here, {});
  assert_int_equal(here.offset, 8);
}

void file_that_never_was_has_no_lines(void **) {
  Following here;
  here.follower().finish();
  assert_int_equal(here.calls, 0);
}

void of_a_progress_bar_the_last_state_comes(void **) {
  Following here;
  LogFollower follower = here.follower();
  here.print("dos\r\n\r\n\r 10%\r 20%");
  follower.follow();
  assert_lines(here, {"dos", ""});
  here.print("\r 30%");
  follower.follow();
  here.print("\nnext\r\nend\r");
  follower.follow();
  assert_lines(here, {" 30%", "next"});
  here.print("\n10%\r20%\r");
  follower.follow();
  assert_lines(here, {"end"});
  follower.finish();
  assert_lines(here, {"20%"});
}

void progress_bar_that_never_ends_its_line_is_not_kept(void **) {
  Following here;
  LogFollower follower = here.follower();
  std::string bar;
  for (int i = 0; i < 400'000; ++i) bar += "\r|||||";
  here.print(bar);
  while (follower.follow()) {
  }
  assert_true(here.lines.empty());
  assert_true(here.offset > bar.size() - 10);
  follower.finish();
  assert_lines(here, {"|||||"});
}

void bytes_that_are_not_text_are_replaced(void **) {
  Following here;
  here.print(
      "gr\xC3\xB6\xC3\x9F"
      "e \xFF\xC3 x\n");
  here.follower().follow();
  assert_lines(here, {"gr\xC3\xB6\xC3\x9F"
                      "e \xEF\xBF\xBD\xEF\xBF\xBD x"});
}

void long_line_comes_in_pieces_between_characters(void **) {
  Following here;
  const size_t limit = 64 << 10;
  // 65535 bytes, and then one character of two.
  const std::string first(limit - 1, 'x');
  here.print(first + "\xC3\xB6" + "rest\n");
  LogFollower follower = here.follower();
  follower.follow();
  assert_lines(here, {first, "\xC3\xB6rest"});
  here.print(std::string(limit, 'y') + "\n" + std::string(limit + 1, 'z'));
  follower.follow();
  assert_lines(here, {std::string(limit, 'y'), std::string(limit, 'z')});
  follower.finish();
  assert_lines(here, {"z"});
}

void much_comes_in_bounded_batches(void **) {
  Following here;
  std::string text;
  for (int i = 0; i < 500'000; ++i) text += "12345\n";
  here.print(text);
  LogFollower follower = here.follower();
  assert_true(follower.follow());
  assert_true(here.offset > 0 && here.offset <= 1 << 20);
  while (follower.follow()) {
  }
  assert_int_equal(here.lines.size(), 500'000);
  assert_int_equal(here.offset, text.size());
}

void lines_come_again_when_they_could_not_be_stored(void **) {
  Following here;
  here.print("one\n");
  int tries = 0;
  LogFollower follower(here.path, 0, [&](const std::vector<std::string> &lines, uint64_t) {
    assert_string_equal(lines.at(0).c_str(), "one");
    if (++tries == 1) throw Error(Code::full, "no space");
  });
  try {
    follower.follow();
  } catch (const Error &) {
  }
  follower.follow();
  follower.follow();
  assert_int_equal(tries, 2);
}

void emptied_file_is_read_from_its_start(void **) {
  Following here;
  LogFollower follower = here.follower();
  here.print("one\ntwo\n");
  follower.follow();
  std::filesystem::resize_file(here.path, 0);
  here.print("new\n");
  follower.follow();
  assert_lines(here, {"one", "two", "new"});
}

}  // namespace

int test_log_follower() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(complete_lines_come_as_they_are_written),
      cmocka_unit_test(nothing_is_handed_on_when_nothing_changed),
      cmocka_unit_test(following_goes_on_from_an_offset),
      cmocka_unit_test(last_line_needs_no_end_once_the_writer_is_gone),
      cmocka_unit_test(file_that_never_was_has_no_lines),
      cmocka_unit_test(of_a_progress_bar_the_last_state_comes),
      cmocka_unit_test(progress_bar_that_never_ends_its_line_is_not_kept),
      cmocka_unit_test(bytes_that_are_not_text_are_replaced),
      cmocka_unit_test(long_line_comes_in_pieces_between_characters),
      cmocka_unit_test(much_comes_in_bounded_batches),
      cmocka_unit_test(lines_come_again_when_they_could_not_be_stored),
      cmocka_unit_test(emptied_file_is_read_from_its_start),
  };
  return cmocka_run_group_tests_name("log_follower", tests, nullptr, nullptr);
}
