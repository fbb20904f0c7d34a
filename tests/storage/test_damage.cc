// Stored checkpoints that are damaged or want to lead the reader out.
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "core/base/json.h"
#include "tests/storage/fixture.h"

namespace {
bool old_kernel = false;  // one without openat2
// The openat2 that fails, and how often from then on.
std::atomic<int> openings_before, openings_to_fail, failure;
}  // namespace

extern "C" long __real_syscall(long number, ...);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d) {
  const bool fails = number == SYS_openat2 && openings_to_fail > 0 && openings_before-- <= 0 &&
                     openings_to_fail-- > 0;
  if (!fails && (!old_kernel || number != SYS_openat2)) return __real_syscall(number, a, b, c, d);
  errno = fails ? failure.load() : ENOSYS;
  return -1;
}

namespace det::storage {

namespace {

struct Damaged : Fixture {
  Damaged() { store("one", sample()); }

  fs::path stored(const std::string &path) const { return base / "one" / path; }

  void rewrite(const std::string &path, const std::string &text) const {
    write_all(open_file(stored(path), O_WRONLY | O_TRUNC).get(), text, path);
  }

  void assert_unusable(Code code, const std::string &fragment, bool checksums = false) {
    assert_throws(code, fragment, [&] { storage->restore("one", nullptr, checksums); });
    assert_throws(code, fragment,
                  [&] { storage->download("one", root / "target", nullptr, checksums); });
  }
};

int make_damaged(void **state) {
  *state = new Damaged;
  return 0;
}

int drop_damaged(void **state) {
  delete static_cast<Damaged *>(*state);
  return 0;
}

Damaged &damaged(void **state) { return *static_cast<Damaged *>(*state); }

void shorter_file_is_corrupt(void **state) {
  Damaged &at = damaged(state);
  at.rewrite("subdir/file1.txt", "nested");
  at.assert_unusable(Code::corrupt, "subdir/file1.txt': it has 6 bytes instead of 13");
}

void what_fails_for_other_reasons_is_not_taken_for_damage(void **state) {
  Damaged &at = damaged(state);
  for (const int os_errno : {EIO, ENOMEM, EMFILE, EXDEV}) {
    failure = os_errno;
    for (int before = 0;; ++before) {
      openings_before = before;
      openings_to_fail = 1;
      try {
        at.storage->restore("one", nullptr, true);
      } catch (const Error &error) {
        assert_int_equal(error.os_errno, os_errno);
        assert_int_equal(static_cast<int>(error.code),
                         static_cast<int>(OsFailure{os_errno}.code()));
      }
      if (openings_to_fail.exchange(0) == 1) break;
    }
  }
}

void changed_byte_is_corrupt_where_checksums_are_compared(void **state) {
  Damaged &at = damaged(state);
  at.rewrite("root.txt", "ROOT file");
  at.assert_unusable(Code::corrupt, "root.txt", true);
  assert_false(fs::exists(at.root / "target/root.txt"));
  at.storage->restore("one", nullptr, false);
  at.storage->download("one", at.root / "target", nullptr, false);
}

void sizes_that_are_none_are_damage(void **state) {
  Fixture &at = fixture_of(state);
  at.file("d/one", "123456789");
  at.store("sizes", at.root / "d");
  const std::string text = read_file(at.base / "sizes" / manifest_name);
  for (const char *other : {"-1", "4611686018427387904", "1099511627776", "9.5", "\"9\"", "null"}) {
    std::string changed = text;
    changed.replace(changed.find(",9,"), 3, "," + std::string(other) + ",");
    at.file(std::string("base/sizes/") + manifest_name, changed);
    for (const bool checksums : {true, false}) {
      assert_throws(Code::corrupt, "damaged",
                    [&] { at.storage->download("sizes", at.root / "t", nullptr, checksums); });
      assert_throws(Code::corrupt, "damaged",
                    [&] { at.storage->restore("sizes", nullptr, checksums); });
    }
  }
}

void missing_file_is_corrupt_if_wanted(void **state) {
  Damaged &at = damaged(state);
  fs::remove(at.stored("root.txt"));
  at.assert_unusable(Code::corrupt, "root.txt': the file is missing");
  const auto only = [](const std::string &wanted) {
    return [wanted](const std::string &path) { return path == wanted; };
  };
  assert_throws(Code::corrupt, "root.txt",
                [&] { at.storage->download("one", at.root / "target", only("root.txt"), false); });
  at.storage->download("one", at.root / "target", only("subdir/file1.txt"), true);
  assert_true(fs::exists(at.root / "target/subdir/file1.txt"));
}

void garbled_manifest_is_corrupt(void **state) {
  Damaged &at = damaged(state);
  for (const char *text :
       {"", "{", "[]", "{}", R"({"version":1})", R"({"version":1,"files":[["a"]]})",
        R"({"version":1,"files":[["a",1,"xyz"]]})", R"({"version":1,"files":[["%4",1,"0"]]})",
        R"({"version":1,"files":[[7,1,"0"]]})", R"({"version":1,"files":7})"}) {
    at.rewrite(manifest_name, text);
    at.assert_unusable(Code::corrupt, manifest_name);
  }
}

void manifest_does_not_lead_out(void **state) {
  Damaged &at = damaged(state);
  at.file("secret", "12345");
  for (const char *path : {"../../secret", "/etc/passwd", "", "a//b", "./root.txt", "%2E%2E/x",
                           "a%00b", "subdir/../root.txt"}) {
    at.rewrite(manifest_name,
               Json{{"version", 1}, {"files", Json::array({Json::array({path, 5, "0"})})}}.dump());
    at.assert_unusable(Code::corrupt, "leads out");
  }
}

void manifest_of_a_newer_release_is_unsupported(void **state) {
  Damaged &at = damaged(state);
  at.rewrite(manifest_name, R"({"version":3,"files":[]})");
  at.assert_unusable(Code::unsupported, "update this library");
}

void checkpoint_without_manifest_is_taken_as_it_is(void **state) {
  Damaged &at = damaged(state);
  fs::remove(at.stored(manifest_name));
  at.rewrite("root.txt", "whatever");
  at.storage->restore("one", nullptr, true);
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_string_equal(read_file(at.root / "target/root.txt").c_str(), "whatever");
}

void missing_manifest_is_corrupt_where_there_was_one(void **state) {
  Damaged &at = damaged(state);
  const auto had = [] { return true; };
  const auto unasked = [] {
    fail_msg("asked although there is a manifest");
    return false;
  };
  at.storage->restore("one", {nullptr, true, unasked});
  fs::remove(at.stored(manifest_name));
  assert_throws(Code::corrupt, "its manifest is missing", [&] {
    at.storage->restore("one", {nullptr, false, had});
  });
  assert_throws(Code::corrupt, "its manifest is missing", [&] {
    at.storage->download("one", at.root / "target", {nullptr, false, had});
  });
  assert_false(fs::exists(at.root / "target"));
  at.storage->restore("one", {nullptr, true, [] { return false; }});
}

// Whether it has a manifest, which names none of these, or not.
void what_a_download_refuses_is_not_restored_either(void **state) {
  Damaged &at = damaged(state);
  at.file("secret", "1");
  at.directory("elsewhere");
  for (const bool has_manifest : {true, false}) {
    if (!has_manifest) fs::remove(at.stored(manifest_name));
    for (const fs::path &target :
         {at.root / "secret", at.root / "elsewhere", fs::path("../../../secret")}) {
      fs::create_symlink(target, at.stored("subdir/planted"));
      at.assert_unusable(Code::corrupt, "subdir/planted");
      fs::remove(at.stored("subdir/planted"));
    }
    assert_int_equal(mkfifo(at.stored("subdir/pipe").c_str(), 0600), 0);
    at.assert_unusable(Code::invalid, "subdir/pipe");
    fs::remove(at.stored("subdir/pipe"));
    fs::create_symlink("file1.txt", at.stored("subdir/inside"));
    at.storage->restore("one", nullptr, true);
    fs::remove(at.stored("subdir/inside"));
  }
}

void file_beyond_the_manifest_is_copied(void **state) {
  Damaged &at = damaged(state);
  at.file("base/one/notes", "added later");
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_string_equal(read_file(at.root / "target/notes").c_str(), "added later");
}

void stored_link_to_a_file_outside_is_refused(void **state) {
  Damaged &at = damaged(state);
  at.file("secret", "root file");
  fs::remove(at.stored("root.txt"));
  for (const fs::path &link : {at.root / "secret", fs::path("../../secret")}) {
    fs::create_symlink(link, at.stored("root.txt"));
    at.assert_unusable(Code::corrupt, "root.txt", true);
    fs::remove(at.stored("root.txt"));
  }
  assert_false(fs::exists(at.root / "target/root.txt"));
}

void stored_link_to_a_directory_outside_is_refused(void **state) {
  Damaged &at = damaged(state);
  at.file("elsewhere/file1.txt", "nested file 1");
  at.file("elsewhere/file2.txt", "nested file 2");
  fs::remove_all(at.stored("subdir"));
  fs::create_symlink("../../elsewhere", at.stored("subdir"));
  at.assert_unusable(Code::corrupt, "subdir", true);
  fs::remove(at.stored(manifest_name));
  assert_throws(Code::corrupt, "subdir",
                [&] { at.storage->download("one", at.root / "target", nullptr, true); });
  assert_throws(Code::corrupt, "subdir", [&] {
    at.storage->download(
        "one", at.root / "target", [](const std::string &) { return true; }, true);
  });
  assert_false(fs::exists(at.root / "target/subdir/file1.txt"));
}

void link_in_the_target_does_not_lead_out(void **state) {
  Damaged &at = damaged(state);
  at.directory("elsewhere");
  fs::create_symlink(at.root / "elsewhere", at.directory("target") / "subdir");
  assert_throws(Code::invalid, "subdir",
                [&] { at.storage->download("one", at.root / "target", nullptr, true); });
  assert_true(fs::is_empty(at.root / "elsewhere"));
}

void link_in_place_of_a_target_file_is_replaced(void **state) {
  Damaged &at = damaged(state);
  const fs::path precious = at.file("precious", "mine");
  fs::create_symlink(precious, at.directory("target") / "root.txt");
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_string_equal(read_file(precious).c_str(), "mine");
  assert_string_equal(read_file(at.root / "target/root.txt").c_str(), "root file");
}

void target_that_is_a_file_or_has_directories_in_the_way_is_refused(void **state) {
  Damaged &at = damaged(state);
  at.file("plain");
  assert_throws(Code::invalid, "plain",
                [&] { at.storage->download("one", at.root / "plain", nullptr, true); });
  at.directory("target/root.txt");
  assert_throws(Code::io, "root.txt",
                [&] { at.storage->download("one", at.root / "target", nullptr, true); });
}

void old_kernels_follow_no_link_at_all(void **state) {
  Damaged &at = damaged(state);
  old_kernel = true;
  at.storage->restore("one", nullptr, true);
  at.storage->download("one", at.root / "target", nullptr, true);
  at.store("two", at.sample());
  fs::create_symlink("file1.txt", at.stored("subdir/inside"));
  const auto download = [&] { at.storage->download("one", at.root / "other", nullptr, true); };
  assert_throws(Code::corrupt, "subdir/inside", download);
  fs::remove(at.stored("subdir/inside"));
  fs::remove_all(at.stored("subdir"));
  fs::create_symlink("../../sample/subdir", at.stored("subdir"));
  at.assert_unusable(Code::corrupt, "subdir", true);
  old_kernel = false;
}

void removal_does_not_follow_links(void **state) {
  Damaged &at = damaged(state);
  at.file("elsewhere/precious");
  fs::create_symlink(at.root / "elsewhere", at.stored("lnk"));
  at.storage->remove_matching("one", {"lnk"});
  at.storage->restore("one", nullptr, true);
  fs::create_symlink(at.root / "elsewhere", at.stored("lnk"));
  at.storage->remove("one");
  assert_true(fs::exists(at.root / "elsewhere/precious"));
}

}  // namespace

}  // namespace det::storage

#define DAMAGE_TEST(name) \
  cmocka_unit_test_setup_teardown(name, det::storage::make_damaged, det::storage::drop_damaged)

int main() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      DAMAGE_TEST(shorter_file_is_corrupt),
      DAMAGE_TEST(what_fails_for_other_reasons_is_not_taken_for_damage),
      DAMAGE_TEST(changed_byte_is_corrupt_where_checksums_are_compared),
      DAMAGE_TEST(sizes_that_are_none_are_damage),
      DAMAGE_TEST(missing_file_is_corrupt_if_wanted),
      DAMAGE_TEST(garbled_manifest_is_corrupt),
      DAMAGE_TEST(manifest_does_not_lead_out),
      DAMAGE_TEST(manifest_of_a_newer_release_is_unsupported),
      DAMAGE_TEST(checkpoint_without_manifest_is_taken_as_it_is),
      DAMAGE_TEST(missing_manifest_is_corrupt_where_there_was_one),
      DAMAGE_TEST(what_a_download_refuses_is_not_restored_either),
      DAMAGE_TEST(file_beyond_the_manifest_is_copied),
      DAMAGE_TEST(stored_link_to_a_file_outside_is_refused),
      DAMAGE_TEST(stored_link_to_a_directory_outside_is_refused),
      DAMAGE_TEST(link_in_the_target_does_not_lead_out),
      DAMAGE_TEST(link_in_place_of_a_target_file_is_replaced),
      DAMAGE_TEST(target_that_is_a_file_or_has_directories_in_the_way_is_refused),
      DAMAGE_TEST(old_kernels_follow_no_link_at_all),
      DAMAGE_TEST(removal_does_not_follow_links),
  };
  return cmocka_run_group_tests_name("storage damage", tests, nullptr, nullptr);
}
