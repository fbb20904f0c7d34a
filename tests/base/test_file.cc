#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "core/base/file.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
namespace fs = std::filesystem;

size_t entries(const fs::path &directory) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(directory), fs::directory_iterator()));
}

void durable_write_makes_and_replaces(void **) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "file";
  write_file_durably(path, "old");
  assert_string_equal(read_file(path).c_str(), "old");
  write_file_durably(path, std::string("n\0w", 3), 0600);
  assert_equal(read_file(path), std::string("n\0w", 3));
  assert_int_equal(fs::status(path).permissions() & fs::perms::mask, 0600);
  assert_int_equal(entries(directory.path()), 1);
}

void failed_durable_write_leaves_the_old_file_alone(void **) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "file";
  write_file_durably(path, "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{4, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  const auto message = expect_error(Code::io, [&] { write_file_durably(path, "too long"); });
  setrlimit(RLIMIT_FSIZE, &before);
  assert_true(contains(message, directory.path().string()));
  assert_string_equal(read_file(path).c_str(), "old");
  assert_int_equal(entries(directory.path()), 1);
}

// Killed at any instant, a writer leaves one of the two texts in full.
void killed_durable_write_leaves_old_or_new(void **) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "file";
  const std::string old_text(100'000, 'o');
  const std::string new_text(200'000, 'n');
  write_file_durably(path, old_text);
  for (unsigned round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) {
        write_file_durably(path, new_text);
        write_file_durably(path, old_text);
      }
    usleep(500 + round * 331);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string found = read_file(path);
    assert_true(found == old_text || found == new_text);
  }
}

void durable_write_works_beside_the_current_directory(void **) {
  const TemporaryDirectory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  write_file_durably("file", "text");
  fs::current_path(before);
  assert_string_equal(read_file(directory / "file").c_str(), "text");
}

void missing_directory_of_a_durable_write_is_named(void **) {
  const TemporaryDirectory directory;
  const auto message =
      expect_error(Code::not_found, [&] { write_file_durably(directory / "no/file", "text"); });
  assert_true(contains(message, (directory / "no").string()));
}

void directories_are_made_with_their_parents(void **) {
  const TemporaryDirectory directory;
  make_directories(directory / "a/b/c/");
  make_directories(directory / "a/b/c");
  make_directories(directory / "a/../d");
  assert_true(fs::is_directory(directory / "a/b/c") && fs::is_directory(directory / "d"));
}

void nothing_is_writable_by_everybody_unless_asked_for(void **) {
  const TemporaryDirectory directory;
  const mode_t before = umask(0);
  make_directories(directory / "a/b");
  open_file(directory / "a/opened", O_WRONLY | O_CREAT);
  write_file_durably(directory / "a/written", "text");
  umask(before);
  for (const auto &[name, mode] :
       {std::pair("a", 0775), {"a/b", 0775}, {"a/opened", 0664}, {"a/written", 0664}}) {
    struct stat about {};
    assert_int_equal(stat((directory / name).c_str(), &about), 0);
    assert_int_equal(about.st_mode & 07777, mode);
  }
}

void directories_behind_a_link_are_made(void **) {
  const TemporaryDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_directory_symlink("real", directory / "link");
  make_directories(directory / "link/sub");
  assert_true(fs::is_directory(directory / "real/sub"));
}

void a_file_in_the_way_of_a_directory_is_named(void **) {
  const TemporaryDirectory directory;
  write_file_durably(directory / "file", "");
  const auto message =
      expect_error(Code::invalid, [&] { make_directories(directory / "file/sub/dir"); });
  assert_true(contains(message, "'" + (directory / "file").string() + "'"));
  fs::create_symlink("nowhere", directory / "dangling");
  expect_error(Code::invalid, [&] { make_directories(directory / "dangling"); });
}

void directories_without_permission_are_named(void **) {
  if (geteuid() == 0) {  // root may do anything, except on read-only file systems such as /proc
    expect_error(Code::not_found, [] { make_directories("/proc/detcore/sub"); });
    return;
  }
  const TemporaryDirectory directory;
  chmod(directory.path().c_str(), 0500);
  const auto message = expect_error(Code::access, [&] { make_directories(directory / "a/b"); });
  chmod(directory.path().c_str(), 0700);
  assert_true(contains(message, "'" + (directory / "a").string() + "'"));
}

void reading_a_missing_file_names_it(void **) {
  const auto message = expect_error(Code::not_found, [] { read_file("/nowhere/file"); });
  assert_true(contains(message, "/nowhere/file"));
}

void files_are_closed_on_exec_and_with_their_owner(void **) {
  const TemporaryDirectory directory;
  int number = -1;
  {
    Fd file = open_file(directory / "file", O_RDWR | O_CREAT);
    number = file.get();
    assert_int_equal(fcntl(number, F_GETFD), FD_CLOEXEC);
    Fd moved(std::move(file));
    assert_false(static_cast<bool>(file));  // NOLINT(bugprone-use-after-move): moved from is empty
    assert_int_equal(moved.get(), number);
  }
  assert_int_equal(fcntl(number, F_GETFD), -1);
}

void writing_to_a_full_disk_is_full(void **) {
  const Fd full = open_file("/dev/full", O_WRONLY);
  const auto message = expect_error(Code::full, [&] { write_all(full.get(), "x", "the name"); });
  assert_true(contains(message, "the name") && contains(message, "free some space"));
}

void a_directory_is_full_when_nothing_can_be_written_there(void **) {
  const TemporaryDirectory directory;
  assert_false(is_full(directory.path()) || is_full("/nowhere"));
  const pid_t child = fork();
  if (child == 0) {
    const int space = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
    if (unshare(space) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", directory.path().c_str(), "tmpfs", 0, "size=256k") != 0)
      _exit(77);
    const bool was_full = is_full(directory.path());
    const Fd file = open_file(directory / "all", O_WRONLY | O_CREAT);
    const std::string some(4096, 'x');
    while (write(file.get(), some.data(), some.size()) > 0) {
    }
    const bool is_clean = entries(directory.path()) == 1;
    _exit(!was_full && is_full(directory.path()) && is_clean ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == 77) skip();
  assert_int_equal(status, 0);
}

void file_systems_of_this_machine_are_no_network(void **) {
  assert_false(on_network_filesystem("/proc"));
  expect_error(Code::not_found, [] { on_network_filesystem("/nowhere"); });
}

}  // namespace

int test_file() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(durable_write_makes_and_replaces),
      cmocka_unit_test(failed_durable_write_leaves_the_old_file_alone),
      cmocka_unit_test(killed_durable_write_leaves_old_or_new),
      cmocka_unit_test(durable_write_works_beside_the_current_directory),
      cmocka_unit_test(missing_directory_of_a_durable_write_is_named),
      cmocka_unit_test(directories_are_made_with_their_parents),
      cmocka_unit_test(nothing_is_writable_by_everybody_unless_asked_for),
      cmocka_unit_test(directories_behind_a_link_are_made),
      cmocka_unit_test(a_file_in_the_way_of_a_directory_is_named),
      cmocka_unit_test(directories_without_permission_are_named),
      cmocka_unit_test(reading_a_missing_file_names_it),
      cmocka_unit_test(files_are_closed_on_exec_and_with_their_owner),
      cmocka_unit_test(writing_to_a_full_disk_is_full),
      cmocka_unit_test(a_directory_is_full_when_nothing_can_be_written_there),
      cmocka_unit_test(file_systems_of_this_machine_are_no_network),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
