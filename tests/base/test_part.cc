#include <cstdio>

#include "core/base/crypto/secure_hash.h"
#include "core/base/part.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"

namespace {

using namespace det;

Part some_part(const char *build) {
  return {"trying it", SOME_PART, "some_part", build, ", and something else"};
}

void a_part_shows_its_entry_again_and_again(void **) {
  const auto *const entry = static_cast<const char *const *>(open_part(some_part("a build")));
  assert_string_equal(entry[1], "what it brings");
  assert_ptr_equal(open_part(some_part("a build")), entry);
}

void a_part_that_is_missing_is_named_with_what_to_install(void **) {
  Part part = some_part("a build");
  part.library = "libdetcore-nothing.so.0";
  const std::string message = expect_error(Code::unsupported, [&] { open_part(part); });
  assert_true(message.starts_with("trying it: libdetcore-nothing.so.0 cannot be loaded ("));
  assert_true(contains(message, "No such file"));
  assert_true(message.ends_with(
      "install it where libdetcore.so.0 is, from the same package, and something else"));
}

void a_part_of_another_build_is_rejected(void **) {
  const auto rejected = [](const Part &part) {
    const std::string message = expect_error(Code::unsupported, [&] { open_part(part); });
    assert_true(contains(message, "is of another build than this library; install both"));
  };
  rejected(some_part("another build"));
  Part part = some_part("a build");
  part.entry = "nothing";
  rejected(part);
}

template <class Bytes>
std::string hex(const Bytes &bytes) {
  std::string text;
  for (const unsigned byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

// The examples of FIPS 180-4 and RFC 4231.
void secure_hashes_are_those_of_the_standards(void **) {
  assert_string_equal(hex(sha256("abc")).c_str(),
                      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  assert_string_equal(hex(sha512("abc")).c_str(),
                      "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                      "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  assert_string_equal(hex(hmac_sha256("Jefe", "what do ya want for nothing?")).c_str(),
                      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  assert_true(is_same_secret("abc", "abc"));
  assert_false(is_same_secret("abc", "abd"));
  assert_false(is_same_secret("abc", "abcd"));
}

}  // namespace

int test_part() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_part_shows_its_entry_again_and_again),
      cmocka_unit_test(a_part_that_is_missing_is_named_with_what_to_install),
      cmocka_unit_test(a_part_of_another_build_is_rejected),
      cmocka_unit_test(secure_hashes_are_those_of_the_standards),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
