// Bodies that come in several attempts.
#include "core/cloud/download.h"
#include "tests/assert_equal.h"
#include "tests/cmocka.h"

namespace {

using namespace det;
using namespace det::cloud;

struct Taken : http::BodySink {
  void begin() override { ++bodies; }
  void write(const char *bytes, size_t count) override { text.append(bytes, count); }
  std::string text;
  int bodies = 0;
};

http::HttpResponse answer_of(int status, const std::string &content_range = "") {
  http::HttpResponse answer;
  answer.status = status;
  if (!content_range.empty()) answer.headers.push_back({"content-range", content_range});
  return answer;
}

void take(Download &download, const std::string &text) {
  download.begin();
  download.write(text.data(), text.size());
}

void attempt_asks_for_what_is_left(void **) {
  const auto taken = std::make_shared<Taken>();
  Download download(10, 6, taken);
  assert_equal(download.next_range(), "bytes=10-15");
  take(download, "abcd");
  const auto refusal = download.check(answer_of(206, "bytes 10-15/20"));
  assert_true(refusal.has_value() && refusal->again == Refusal::Again::soon);
  assert_equal(download.next_range(), "bytes=14-15");
  take(download, "ef");
  assert_false(download.check(answer_of(206, "bytes 14-15/20")).has_value());
  assert_equal(taken->text, "abcdef");
  assert_equal(taken->bodies, 1);
  assert_equal(download.done(), 6);
}

void object_may_end_before_the_range(void **) {
  const auto taken = std::make_shared<Taken>();
  Download download(10, UINT64_MAX, taken);
  assert_equal(download.next_range(), "bytes=10-");
  take(download, "ab");
  assert_false(download.check(answer_of(206, "bytes 10-11/12")).has_value());
  assert_equal(taken->text, "ab");
}

void nothing_is_taken_that_was_not_asked_for(void **) {
  const auto taken = std::make_shared<Taken>();
  Download download(0, 3, taken);
  download.next_range();
  take(download, "abcdef");  // a server without ranges
  assert_false(download.check(answer_of(200)).has_value());
  assert_equal(taken->text, "abc");
}

void loss_after_the_last_byte_is_none(void **) {
  const auto taken = std::make_shared<Taken>();
  Download download(0, 3, taken);
  download.next_range();
  take(download, "abc");
  assert_equal(download.next_range(), "bytes=3-3");
  assert_false(download.check(answer_of(416, "bytes */3")).has_value());
  take(download, "d");
  assert_false(download.check(answer_of(206, "bytes 3-3/4")).has_value());
  assert_equal(taken->text, "abc");
}

void empty_object_begins_the_sink(void **) {
  const auto taken = std::make_shared<Taken>();
  Download download(0, UINT64_MAX, taken);
  download.next_range();
  assert_false(download.check(answer_of(416, "bytes */0")).has_value());
  assert_equal(taken->bodies, 1);
}

void other_bytes_are_refused(void **) {
  for (const auto &[status, header, code] :
       {std::tuple{200, "", Code::corrupt}, std::tuple{206, "bytes 0-9/20", Code::corrupt},
        std::tuple{206, "", Code::corrupt}, std::tuple{206, "bytes x-9/20", Code::corrupt},
        std::tuple{416, "bytes */9", Code::invalid}}) {
    Download download(10, 5, std::make_shared<Taken>());
    download.next_range();
    const auto refusal = download.check(answer_of(status, header));
    assert_true(refusal.has_value());
    assert_equal(refusal->code, code);
    assert_true(refusal->again == Refusal::Again::no);
  }
}

}  // namespace

int test_download() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(attempt_asks_for_what_is_left),
      cmocka_unit_test(object_may_end_before_the_range),
      cmocka_unit_test(nothing_is_taken_that_was_not_asked_for),
      cmocka_unit_test(loss_after_the_last_byte_is_none),
      cmocka_unit_test(empty_object_begins_the_sink),
      cmocka_unit_test(other_bytes_are_refused),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
