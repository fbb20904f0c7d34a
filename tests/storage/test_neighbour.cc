// Another user of the machine, who may write where the storage lets him, and means no good.
#include <grp.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>
#include <functional>

#include "tests/storage/fixture.h"
#include "tests/traced.h"

namespace det::storage {

namespace {

using test::Traced;

constexpr uid_t neighbour = 65534;  // nobody, and his group

struct Shared : Fixture {
  // Root only, since nobody else can be two users.
  explicit Shared(mode_t mode, gid_t group = 0) {
    assert_int_equal(chmod(root.c_str(), 0755), 0);
    fs::create_directory(base);
    assert_int_equal(chown(base.c_str(), 0, group), 0);
    assert_int_equal(chmod(base.c_str(), mode), 0);
  }

  fs::path staged(const std::string &name) const { return base / ".partial" / name; }
};

void require_root() {
  if (geteuid() == 0) return;
  print_message("# SKIPPED: the hostile neighbour needs a second user, so run this as root\n");
  skip();
}

// What `body` returns, from a process of the other user.
int as_neighbour(const std::function<int()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    umask(0);
    if (setgroups(0, nullptr) != 0 || setresgid(neighbour, neighbour, neighbour) != 0 ||
        setresuid(neighbour, neighbour, neighbour) != 0)
      _exit(254);
    _exit(body());
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

// 0, or the errno of what failed.
int moved(const fs::path &from, const fs::path &to) {
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int planted(const fs::path &directory) {
  if (mkdir(directory.c_str(), 0777) != 0) return errno;
  const Fd file(open((directory / "model").c_str(), O_WRONLY | O_CREAT, 0666));
  return file && write(file.get(), "evil", 4) == 4 ? 0 : errno;
}

// His directory in the place of ours.
int swapped(const fs::path &ours) {
  const int failure = moved(ours, ours.parent_path() / "taken-away");
  return failure != 0 ? failure : planted(ours);
}

void save(Storage &storage) {
  const auto writer = storage.begin("one");
  writer->put("model", "ours");
  writer->commit();
  writer->announced();
}

// The exit status of a process that saves: 0, or minus the code it failed with.
int saved(Storage &storage) {
  try {
    save(storage);
    return 0;
  } catch (const Error &error) {
    return -static_cast<int>(error.code);
  }
}

void assert_ours(const Shared &at) {
  at.storage->restore("one", {nullptr, true, [] { return true; }});
  assert_string_equal(read_file(at.base / "one/model").c_str(), "ours");
}

void private_storage_lets_nobody_in(void **) {
  require_root();
  const Shared at(0755);
  const auto writer = at.storage->begin("one");
  writer->put("model", "ours");
  assert_int_equal(as_neighbour([&] { return moved(at.staged("one"), at.staged("x")); }), EACCES);
  assert_int_equal(as_neighbour([&] { return planted(at.staged("y")); }), EACCES);
  assert_int_equal(as_neighbour([&] { return planted(at.staged("one/y")); }), EACCES);
  assert_int_equal(as_neighbour([&] { return unlink(at.staged("one.lock").c_str()) == 0; }), 0);
  writer->commit();
  writer->announced();
  assert_ours(at);
}

void storage_of_everybody_lets_nobody_move_what_is_ours(void **) {
  require_root();
  const Shared at(01777);
  const auto writer = at.storage->begin("one");
  writer->put("model", "ours");
  assert_int_equal(as_neighbour([&] { return swapped(at.staged("one")); }), EPERM);
  assert_int_equal(as_neighbour([&] { return moved(at.base / ".partial", at.base / "x"); }), EPERM);
  writer->commit();
  writer->announced();
  assert_int_equal(as_neighbour([&] { return swapped(at.base / "one"); }), EPERM);
  assert_ours(at);
}

// What was opened at the beginning is what is committed, wherever it is by then.
void staging_that_is_swapped_as_a_whole_changes_nothing(void **) {
  require_root();
  const Shared at(0777);
  const auto writer = at.storage->begin("one");
  writer->put("model", "ours");
  const auto swap = [&] {
    if (const int failure = moved(at.base / ".partial", at.base / "stolen"); failure != 0)
      return failure;
    if (mkdir((at.base / ".partial").c_str(), 0777) != 0) return errno;
    return planted(at.staged("one"));
  };
  assert_int_equal(as_neighbour(swap), 0);
  writer->commit();
  writer->announced();
  assert_ours(at);
}

void directory_swapped_before_the_commit_is_not_published(void **) {
  require_root();
  const Shared at(0770, neighbour);
  const auto writer = at.storage->begin("one");
  writer->put("model", "ours");
  assert_int_equal(as_neighbour([&] { return swapped(at.staged("one")); }), 0);
  assert_throws(Code::conflict, "somebody has moved its directory", [&] { writer->commit(); });
  assert_false(fs::exists(at.base / "one"));
  assert_false(fs::exists(at.staged("one")));
}

void directory_taken_away_before_the_commit_is_not_published(void **) {
  require_root();
  const Shared at(0770, neighbour);
  const auto writer = at.storage->begin("one");
  assert_int_equal(as_neighbour([&] { return moved(at.staged("one"), at.staged("x")); }), 0);
  assert_throws(Code::conflict, "somebody has moved its directory", [&] { writer->commit(); });
  assert_false(fs::exists(at.base / "one"));
}

// In the instant between the look at the directory and its renaming.
void directory_swapped_within_the_commit_does_not_stay_visible(void **) {
  require_root();
  const Shared at(0770, neighbour);
  Traced saving([&](const auto &watched) {
    watched();
    return saved(*at.storage);
  });
  while (saving.until(SYS_renameat2))
    if (fs::exists(at.staged("one"))) break;  // not that of a lock
  assert_int_equal(as_neighbour([&] { return swapped(at.staged("one")); }), 0);
  assert_int_equal(saving.finish(), -static_cast<int>(Code::conflict));
  assert_false(fs::exists(at.base / "one"));
}

// In the instant between the making of the directory and its opening.
void directory_swapped_when_it_was_made_is_refused(void **) {
  require_root();
  const Shared at(0770, neighbour);
  at.storage->begin("warm")->abort();
  Traced saving([&](const auto &watched) {
    watched();
    return saved(*at.storage);
  });
  while (!fs::exists(at.staged("one"))) assert_true(saving.next().has_value());
  assert_int_equal(as_neighbour([&] { return swapped(at.staged("one")); }), 0);
  assert_int_equal(saving.finish(), -static_cast<int>(Code::conflict));
  assert_false(fs::exists(at.base / "one"));
}

void locks_and_trees_of_others_are_theirs(void **) {
  require_root();
  const Shared at(0777);
  save(*at.storage);
  const auto plant = [&] {
    // A lock whose owner is gone would say that "one" was never announced.
    if (!Fd(open(at.staged("one.lock").c_str(), O_WRONLY | O_CREAT, 0666))) return 1;
    if (mkfifo(at.staged("two.lock").c_str(), 0666) != 0) return 2;
    if (symlink("/dev/zero", at.staged("three.lock").c_str()) != 0) return 3;
    return planted(at.staged("four"));
  };
  assert_int_equal(as_neighbour(plant), 0);
  assert_int_equal(at.storage->sweep().size(), 0);
  assert_ours(at);
  for (const char *name : {"one.lock", "two.lock", "three.lock", "four"})
    assert_true(fs::is_symlink(at.staged(name)) || fs::exists(at.staged(name)));
}

// A FIFO and a link of our own, as a program with our rights might leave them.
void sweep_waits_for_nothing(void **state) {
  Fixture &at = fixture_of(state);
  at.directory("base/.partial");
  assert_int_equal(mkfifo((at.base / ".partial/one.lock").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", at.base / ".partial/two.lock");
  assert_int_equal(at.storage->sweep().size(), 0);
}

void what_the_neighbour_stored_arrives_as_the_callers(void **) {
  require_root();
  const Shared at(0777);
  const auto store = [&] {
    const fs::path tool = at.base / "his/bin/tool";
    if (mkdir((at.base / "his").c_str(), 0755) != 0 || planted(at.base / "his/bin") != 0) return 1;
    if (moved(at.base / "his/bin/model", tool) != 0 || chmod(tool.c_str(), 06755) != 0) return 2;
    return chmod((at.base / "his/bin").c_str(), 03775) == 0 ? 0 : 3;
  };
  assert_int_equal(as_neighbour(store), 0);
  for (const bool checksums : {true, false}) {
    at.storage->download("his", at.root / "target", nullptr, checksums);
    for (const auto &[path, mode] : {std::pair("bin", 0775), {"bin/tool", 0755}}) {
      struct stat about {};
      assert_int_equal(stat((at.root / "target" / path).c_str(), &about), 0);
      assert_int_equal(about.st_mode & 07777, mode);
      assert_int_equal(about.st_uid, 0);
      assert_int_equal(about.st_gid, 0);
    }
    remove_tree(at.root / "target");
  }
}

}  // namespace

}  // namespace det::storage

int test_neighbour() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test(private_storage_lets_nobody_in),
      cmocka_unit_test(storage_of_everybody_lets_nobody_move_what_is_ours),
      cmocka_unit_test(staging_that_is_swapped_as_a_whole_changes_nothing),
      cmocka_unit_test(directory_swapped_before_the_commit_is_not_published),
      cmocka_unit_test(directory_taken_away_before_the_commit_is_not_published),
      cmocka_unit_test(directory_swapped_within_the_commit_does_not_stay_visible),
      cmocka_unit_test(directory_swapped_when_it_was_made_is_refused),
      cmocka_unit_test(locks_and_trees_of_others_are_theirs),
      STORAGE_TEST(sweep_waits_for_nothing),
      cmocka_unit_test(what_the_neighbour_stored_arrives_as_the_callers),
  };
  return cmocka_run_group_tests_name("storage neighbour", tests, nullptr, nullptr);
}
