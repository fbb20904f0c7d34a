// auth.json and certs.json, which belong to us and to the original's command line.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include "core/base/file.h"
#include "core/config/certificates.h"
#include "core/config/token_cache.h"
#include "core/config/user_file.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::config;
namespace fs = std::filesystem;

const std::string master = "http://host:8080";

// A user whose config directory is not there yet.
struct User {
  User() { setenv("DET_DEBUG_CONFIG_PATH", directory.c_str(), 1); }
  ~User() { unsetenv("DET_DEBUG_CONFIG_PATH"); }

  void write(const std::string &file, const std::string &text) const {
    make_directories(directory);
    write_file_durably(directory / file, text);
  }
  std::string text(const std::string &file) const { return read_file(directory / file); }

  TemporaryDirectory parent;
  fs::path directory = parent / "config";
};

std::string mode(const fs::path &path) {
  struct stat about {};
  assert_int_equal(stat(path.c_str(), &about), 0);
  return std::to_string((about.st_mode >> 6U) & 7U) + std::to_string((about.st_mode >> 3U) & 7U) +
         std::to_string(about.st_mode & 7U);
}

void directory_follows_from_the_variables(void **) {
  unsetenv("DET_DEBUG_CONFIG_PATH");
  setenv("HOME", "/home/somebody", 1);
  unsetenv("XDG_CONFIG_HOME");
  assert_string_equal(user_config_directory().c_str(), "/home/somebody/.config/determined");
  setenv("XDG_CONFIG_HOME", "", 1);
  assert_string_equal(user_config_directory().c_str(), "/home/somebody/.config/determined");
  setenv("XDG_CONFIG_HOME", "/config", 1);
  assert_string_equal(user_config_directory().c_str(), "/config/determined");
  setenv("DET_DEBUG_CONFIG_PATH", "/debug", 1);
  assert_string_equal(user_config_directory().c_str(), "/debug");
  unsetenv("DET_DEBUG_CONFIG_PATH");
  unsetenv("XDG_CONFIG_HOME");
}

void reading_makes_nothing(void **) {
  const User user;
  assert_true(read_known_users(master).tokens.empty());
  assert_string_equal(stored_certificate(master).c_str(), "");
  assert_false(fs::exists(user.directory));
}

void file_is_written_as_the_original_writes_it(void **) {
  const User user;
  store_token(master, "zoë", "v2.public.z", false);
  store_token(master, "bob", "v2.public.b", true);
  store_token("https://a:443/p", "bob", "v2.public.a", false);
  assert_string_equal(user.text("auth.json").c_str(),
                      R"({
    "masters": {
        "http://host:8080": {
            "active_user": "bob",
            "tokens": {
                "bob": "v2.public.b",
                "zo\u00eb": "v2.public.z"
            }
        },
        "https://a:443/p": {
            "tokens": {
                "bob": "v2.public.a"
            }
        }
    },
    "version": 2
})");
  assert_string_equal(mode(user.directory / "auth.json").c_str(), "600");
  assert_string_equal(mode(user.directory / "auth.json.lock").c_str(), "600");
  assert_string_equal(mode(user.directory).c_str(), "700");
}

void users_are_known_by_master(void **) {
  const User user;
  store_token(master, "bob", "b", true);
  store_token(master, "eve", "e", false);
  store_token("http://other:80", "eve", "o", true);
  const KnownUsers known = read_known_users(master);
  assert_string_equal(known.active.c_str(), "bob");
  assert_int_equal(known.tokens.size(), 2);
  assert_string_equal(known.tokens.at("eve").c_str(), "e");
  assert_string_equal(read_known_users("http://other:80").active.c_str(), "eve");
}

void user_is_forgotten_with_the_token(void **) {
  const User user;
  store_token(master, "bob", "b", true);
  store_token(master, "eve", "e", false);
  forget_user(master, "eve");
  assert_string_equal(read_known_users(master).active.c_str(), "bob");
  forget_user(master, "bob");
  const KnownUsers known = read_known_users(master);
  assert_string_equal(known.active.c_str(), "");
  assert_true(known.tokens.empty());
}

void stale_token_is_dropped_unless_it_was_replaced(void **) {
  const User user;
  store_token(master, "bob", "new", true);
  drop_token(master, "bob", "old");
  assert_string_equal(read_known_users(master).tokens.at("bob").c_str(), "new");
  drop_token(master, "bob", "new");
  assert_true(read_known_users(master).tokens.empty());
  assert_string_equal(read_known_users(master).active.c_str(), "bob");
}

void older_forms_are_understood(void **) {
  const User user;
  for (const std::string text :
       {R"({"active_user": "bob", "tokens": {"bob": "b"}})",
        R"({"version": 0, "active_user": "bob", "tokens": {"bob": "b"}})",
        R"({"version": 1, "masters": {"HOST": {"active_user": "bob", "tokens": {"bob": "b"}}}})",
        R"({"version": 1, "masters": {"host:8080/": {"active_user": "bob"},
            "http://host:8080": {"tokens": {"bob": "b"}}, "ftp://no": {}}})",
        R"({"version": 2, "masters": {"http://host:8080": {"active_user": "bob",
            "tokens": {"bob": "b"}}}})"}) {
    user.write("auth.json", text);
    const KnownUsers known = read_known_users(master);
    assert_string_equal(known.active.c_str(), "bob");
    assert_string_equal(known.tokens.at("bob").c_str(), "b");
    store_token(master, "eve", "e", false);
    assert_true(contains(user.text("auth.json"), "\"version\": 2"));
    assert_string_equal(read_known_users(master).tokens.at("bob").c_str(), "b");
  }
}

void damaged_file_is_moved_aside_once(void **) {
  const User user;
  for (const std::string text :
       {"", "{", "[]", R"({"version": "2"})", R"({"version": 2})", R"({"other": 1})",
        R"({"version": 2, "masters": {"host": {}}})", R"({"version": -1, "masters": {}})",
        R"({"version": 2, "masters": {"http://host:8080": {"token": "b"}}})",
        R"({"version": 2, "masters": {"http://host:8080": {"tokens": {"bob": 1}}}})",
        R"({"version": 2, "masters": {"http://host:8080": {"active_user": 1}}})"}) {
    user.write("auth.json", text);
    const std::string message = expect_error(Code::corrupt, [] { read_known_users(master); });
    assert_true(contains(message, (user.directory / "auth.json.damaged").string()));
    assert_true(contains(message, "det login"));
    assert_string_equal(user.text("auth.json.damaged").c_str(), text.c_str());
    assert_true(read_known_users(master).tokens.empty());
    user.write("auth.json", text);
    expect_error(Code::corrupt, [] { store_token(master, "bob", "b", true); });
    store_token(master, "bob", "b", true);
  }
}

void file_of_a_newer_release_stays(void **) {
  const User user;
  user.write("auth.json", R"({"version": 3})");
  expect_error(Code::unsupported, [] { read_known_users(master); });
  expect_error(Code::unsupported, [] { store_token(master, "bob", "b", true); });
  assert_string_equal(user.text("auth.json").c_str(), R"({"version": 3})");
}

void read_only_directory_can_be_read(void **) {
  const User user;
  store_token(master, "bob", "b", true);
  fs::remove(user.directory / "auth.json.lock");
  chmod(user.directory.c_str(), 0500);
  // No permission stops root: then as somebody else, whose files they are.
  constexpr uid_t nobody = 65534;
  const bool is_root = geteuid() == 0;
  if (is_root) {
    chmod(user.directory.parent_path().c_str(), 0711);
    assert_int_equal(chown(user.directory.c_str(), nobody, nobody), 0);
    assert_int_equal(chown((user.directory / "auth.json").c_str(), nobody, nobody), 0);
    assert_int_equal(seteuid(nobody), 0);
  }
  const std::string active = read_known_users(master).active;
  if (is_root) assert_int_equal(seteuid(0), 0);
  assert_string_equal(active.c_str(), "bob");
  chmod(user.directory.c_str(), 0700);
}

// Stores `count` tokens of users that begin with `prefix`, in the middle of what others store.
void store_many(const std::string &prefix, int count) {
  for (int i = 0; i < count; ++i) store_token(master, prefix + std::to_string(i), "token", false);
}

void processes_and_threads_lose_no_entry_of_each_other(void **) {
  constexpr int each = 15;
  const User user;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      try {
        store_many("process" + std::to_string(i) + "-", each);
        _exit(0);
      } catch (...) {
        _exit(1);
      }
    }
    children.push_back(child);
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([i] { store_many("thread" + std::to_string(i) + "-", each); });
  for (std::thread &thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  assert_int_equal(read_known_users(master).tokens.size(), 6 * each);
}

void certificates_are_known_by_master(void **) {
  const User user;
  store_certificate("https://a:443", "PEM of a\n");
  store_certificate("https://b:443", "PEM of b\n");
  assert_string_equal(stored_certificate("https://a:443").c_str(), "PEM of a\n");
  assert_string_equal(stored_certificate("https://c:443").c_str(), "");
  assert_string_equal(user.text("certs.json").c_str(),
                      "{\n    \"https://a:443\": \"PEM of a\\n\",\n"
                      "    \"https://b:443\": \"PEM of b\\n\"\n}");
}

void certificate_of_an_older_release_is_taken_over(void **) {
  const User user;
  user.write("master.crt", "old PEM");
  assert_string_equal(stored_certificate("https://a:443").c_str(), "old PEM");
  assert_false(fs::exists(user.directory / "master.crt"));
  assert_string_equal(stored_certificate("https://a:443").c_str(), "old PEM");
  assert_string_equal(stored_certificate("https://b:443").c_str(), "");
}

void damaged_certificates_are_moved_aside(void **) {
  const User user;
  for (const std::string text : {"", R"({"https://a:443": 1})", "not JSON"}) {
    user.write("certs.json", text);
    const std::string message =
        expect_error(Code::corrupt, [] { stored_certificate("https://a:443"); });
    assert_true(contains(message, "certs.json.damaged"));
    assert_string_equal(user.text("certs.json.damaged").c_str(), text.c_str());
    assert_string_equal(stored_certificate("https://a:443").c_str(), "");
  }
}

}  // namespace

int test_user_files() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(directory_follows_from_the_variables),
      cmocka_unit_test(reading_makes_nothing),
      cmocka_unit_test(file_is_written_as_the_original_writes_it),
      cmocka_unit_test(users_are_known_by_master),
      cmocka_unit_test(user_is_forgotten_with_the_token),
      cmocka_unit_test(stale_token_is_dropped_unless_it_was_replaced),
      cmocka_unit_test(older_forms_are_understood),
      cmocka_unit_test(damaged_file_is_moved_aside_once),
      cmocka_unit_test(file_of_a_newer_release_stays),
      cmocka_unit_test(read_only_directory_can_be_read),
      cmocka_unit_test(processes_and_threads_lose_no_entry_of_each_other),
      cmocka_unit_test(certificates_are_known_by_master),
      cmocka_unit_test(certificate_of_an_older_release_is_taken_over),
      cmocka_unit_test(damaged_certificates_are_moved_aside),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
