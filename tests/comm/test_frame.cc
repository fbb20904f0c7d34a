// What travels between ranks, and what is refused.
#include "core/comm/frame.h"

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace det::test {
namespace {

std::string bytes_of(const comm::FrameHead &head) {
  std::string bytes(comm::frame_head_size, '\0');
  comm::encode_head(head, bytes.data());
  return bytes;
}

void a_head_is_what_it_was(void **) {
  comm::FrameHead head;
  head.kind = comm::FrameKind::abort;
  head.channel = comm::Channel::local;
  head.collective = comm::Collective::broadcast;
  head.is_bulk = true;
  head.code = -14;
  head.api = comm::ApiCall::checkpoint_download;
  head.digest = 0x0a0b0c0d0e0f10;
  head.sequence = 0x0102030405060708;
  head.size = 77;
  const comm::FrameHead back = comm::decode_head(bytes_of(head));
  assert_int_equal(back.kind, comm::FrameKind::abort);
  assert_int_equal(back.channel, comm::Channel::local);
  assert_int_equal(back.collective, comm::Collective::broadcast);
  assert_true(back.is_bulk);
  assert_false(back.is_null);
  assert_int_equal(back.code, -14);
  assert_int_equal(back.api, comm::ApiCall::checkpoint_download);
  assert_equal(back.digest, head.digest);
  assert_equal(back.sequence, head.sequence);
  assert_int_equal(back.size, 77);
}

void a_head_that_makes_no_sense_is_refused(void **) {
  const std::string good = bytes_of({});
  assert_true(
      contains(expect_error(Code::corrupt,
                            [&] { comm::decode_head(good.substr(0, comm::frame_head_size - 1)); }),
               "cut short"));
  for (const size_t at : {0U, 3U, 4U, 5U, 6U, 8U, 31U}) {
    std::string bad = good;
    bad[at] = '\x7f';
    assert_true(contains(expect_error(Code::corrupt, [&] { comm::decode_head(bad); }), "message"));
  }
  comm::FrameHead null;
  null.is_null = true;
  null.size = 1;
  assert_true(contains(expect_error(Code::corrupt, [&] { comm::decode_head(bytes_of(null)); }),
                       "no sense"));
}

void a_list_keeps_null_and_empty_apart(void **) {
  const std::vector<comm::Message> list{"a", std::nullopt, "", std::string(3, '\0')};
  assert_equal(comm::decode_messages(comm::encode_messages(list), 4), list);
  assert_equal(comm::decode_messages(comm::encode_messages(list)), list);
  assert_true(comm::decode_messages(comm::encode_messages({}), 0).empty());
}

// As the votes of a machine are, or what its ranks are told.
void a_list_packs_what_is_repeated_once(void **) {
  std::vector<comm::Message> list(1000, std::string(5000, 'x'));
  list[10] = std::nullopt;
  list[11] = std::nullopt;
  list[20] = "";
  const std::string packed = comm::encode_messages(list);
  assert_in_range(packed.size(), 3 * 5000, 3 * 5000 + 8 * 1001);
  assert_equal(comm::decode_messages(packed, 1000), list);
}

void a_list_that_is_cut_or_too_long_is_refused(void **) {
  const auto refusal = [](const std::string &payload, std::optional<size_t> count) {
    return expect_error(Code::corrupt, [&] { comm::decode_messages(payload, count); });
  };
  const std::string payload = comm::encode_messages(std::vector<comm::Message>{"abc", "d"});
  for (size_t size = 0; size < payload.size(); ++size)
    assert_true(contains(refusal(payload.substr(0, size), 2), "cut short"));
  assert_true(contains(refusal(payload + "x", 2), "too long"));
  assert_true(contains(refusal(payload, 3), "than ranks"));
  assert_true(contains(refusal(std::string(8, '\x7f'), {}), "cut short"));
  assert_true(contains(refusal(std::string(8, '\xff'), {}), "cut short"));
  std::string repeated = comm::encode_messages(std::vector<comm::Message>{"a", "a"});
  repeated.replace(8, 8, repeated.substr(16, 8));
  assert_true(contains(refusal(repeated, 2), "repeats"));
}

}  // namespace
}  // namespace det::test

int test_frame() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_head_is_what_it_was),
      cmocka_unit_test(a_head_that_makes_no_sense_is_refused),
      cmocka_unit_test(a_list_keeps_null_and_empty_apart),
      cmocka_unit_test(a_list_packs_what_is_repeated_once),
      cmocka_unit_test(a_list_that_is_cut_or_too_long_is_refused),
  };
  return cmocka_run_group_tests_name("frame", tests, nullptr, nullptr);
}
