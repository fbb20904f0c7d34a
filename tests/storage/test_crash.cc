// Storing dies, or a system call fails, at every single step; and what sweeping makes of it.
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <vector>

#include "core/base/process/process.h"
#include "core/storage/directory_storage.h"
#include "tests/storage/fixture.h"

namespace {

// What happens at the step-th of the calls below; errno 0: the process dies.
std::atomic<int> steps_left{-1};
int step_errno = 0;

bool fails() {
  if (steps_left < 0 || steps_left-- != 0) return false;
  if (step_errno == 0) _exit(9);
  errno = step_errno;
  return true;
}

// What is synced, and "rename" for what gets another name, in their order; null: nobody asks.
std::vector<std::string> *order = nullptr;
std::mutex order_mutex;

void note(const std::string &what) {
  const std::lock_guard lock(order_mutex);
  if (order != nullptr) order->push_back(what);
}

}  // namespace

#define STEP(result, name, parameters, arguments)                       \
  extern "C" result __real_##name parameters;                           \
  extern "C" result __wrap_##name parameters {                          \
    return fails() ? static_cast<result>(-1) : __real_##name arguments; \
  }

STEP(int, mkdir, (const char *path, mode_t mode), (path, mode))
STEP(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
STEP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
STEP(ssize_t, pwrite64, (int fd, const void *data, size_t size, off_t offset),
     (fd, data, size, offset))
STEP(int, link, (const char *from, const char *to), (from, to))
STEP(int, syncfs, (int fd), (fd))
STEP(int, rename, (const char *from, const char *to), (from, to))
STEP(int, renameat, (int from, const char *name, int to, const char *as), (from, name, to, as))
STEP(int, unlink, (const char *path), (path))

extern "C" int __real_fsync(int fd);
extern "C" int __wrap_fsync(int fd) {
  if (fails()) return -1;
  std::error_code failed;
  note(std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed));
  return __real_fsync(fd);
}

extern "C" int __real_renameat2(int from, const char *name, int to, const char *as, unsigned flags);
extern "C" int __wrap_renameat2(int from, const char *name, int to, const char *as,
                                unsigned flags) {
  if (fails()) return -1;
  note("rename");
  return __real_renameat2(from, name, to, as, flags);
}

// Of what is removed, the locks: a tree that cannot be removed stays, and is no step of storing.
extern "C" int __real_unlinkat(int at, const char *path, int flags);
extern "C" int __wrap_unlinkat(int at, const char *path, int flags) {
  if (std::string_view(path).ends_with(".lock") && fails()) return -1;
  return __real_unlinkat(at, path, flags);
}

namespace det::storage {

namespace {

void stop_failing() { steps_left = -1; }

// Some files; `many` of them take the way of one sync for all.
fs::path source_of(const Fixture &at, bool many) {
  const fs::path source = at.sample();
  for (int i = 0; many && i < 40; ++i)
    at.file("sample/many/" + std::to_string(i), std::to_string(i));
  return source;
}

void store(Storage &storage, const fs::path &source) {
  const auto writer = storage.begin("one");
  writer->add(source, std::nullopt);
  write_all(open_file(writer->path() / "direct", O_WRONLY | O_CREAT).get(), "direct", "direct");
  writer->commit();
  writer->announced();
}

// Runs `body` in a child; gives back its exit status, or minus the signal that ended it.
int in_child(const std::function<void()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception &) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void crash_at_each_step(Fixture &at, bool many) {
  const fs::path source = source_of(at, many);
  int step = 0;
  int committed_unannounced = 0;
  for (;; ++step) {
    const int status = in_child([&] {
      steps_left = step;
      step_errno = 0;
      store(*at.storage, source);
    });
    if (status == 0) break;
    assert_int_equal(status, 9);
    const std::vector<std::string> unannounced = at.storage->sweep();
    if (fs::exists(at.base / "one")) {
      at.storage->restore("one", nullptr, true);
      assert_int_equal(list_directory(at.base / "one").size(), list_directory(source).size() + 1);
      assert_equal(unannounced, std::vector<std::string>{"one"});
      ++committed_unannounced;
      at.storage->remove("one");
    }
    // Of what never was visible, at most the lock was there.
    for (const std::string &id : unannounced) {
      assert_string_equal(id.c_str(), "one");
      at.storage->settle(id);
    }
    assert_int_equal(at.names_in_partial(), 0);
  }
  assert_true(step > 10);
  assert_true(committed_unannounced >= 2);  // before the sync of the base, and after it
}

void death_at_any_step_shows_nothing_or_everything(void **state) {
  crash_at_each_step(fixture_of(state), false);
}

void death_at_any_step_with_many_files_shows_nothing_or_everything(void **state) {
  crash_at_each_step(fixture_of(state), true);
}

void fail_at_each_step(Fixture &at, int os_errno, Code code, bool many) {
  const fs::path source = source_of(at, many);
  at.storage->begin("warm")->abort();  // the base exists, as it mostly does
  for (int step = 0;; ++step) {
    assert_true(step < 1000);
    step_errno = os_errno;
    steps_left = step;
    std::string problem;
    try {
      store(*at.storage, source);
    } catch (const Error &error) {
      problem = error.what();
      assert_int_equal(error.code, code);
    }
    const bool failed_somewhere = steps_left < 0;
    stop_failing();
    if (!problem.empty()) {
      assert_false(fs::exists(at.base / "one"));
      if (problem.find(".lock") == problem.npos) assert_int_equal(at.names_in_partial(), 0);
    }
    if (fs::exists(at.base / "one")) {
      at.storage->restore("one", nullptr, true);
      at.storage->remove("one");
    }
    // A lock that could not be removed belongs to this process, which lives.
    fs::remove(at.base / ".partial/one.lock");
    assert_int_equal(at.names_in_partial(), 0);
    if (!failed_somewhere) break;
  }
}

void full_disk_at_any_step_shows_nothing_and_cleans_up(void **state) {
  fail_at_each_step(fixture_of(state), ENOSPC, Code::full, false);
  fail_at_each_step(fixture_of(state), ENOSPC, Code::full, true);
}

void exhausted_quota_at_any_step_shows_nothing_and_cleans_up(void **state) {
  fail_at_each_step(fixture_of(state), EDQUOT, Code::full, false);
}

void denied_access_at_any_step_shows_nothing_and_cleans_up(void **state) {
  fail_at_each_step(fixture_of(state), EACCES, Code::access, false);
}

void read_only_file_system_at_any_step_shows_nothing_and_cleans_up(void **state) {
  fail_at_each_step(fixture_of(state), EROFS, Code::access, true);
}

void failing_disk_at_any_step_shows_nothing_and_cleans_up(void **state) {
  fail_at_each_step(fixture_of(state), EIO, Code::io, true);
}

void small_file_system_that_fills_up_is_an_error_and_is_left_empty(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_directory(at.base);
  if (mount("tmpfs", at.base.c_str(), "tmpfs", 0, "size=1m") != 0) skip();
  at.file("d/large", std::string(3 << 20, 'x'));
  std::string problem;
  try {
    store(*at.storage, at.root / "d");
  } catch (const Error &error) {
    if (error.code == Code::full) problem = error.what();
  }
  const size_t left = at.names_in_partial();
  at.file("d/large", "fits");
  store(*at.storage, at.root / "d");
  assert_int_equal(umount(at.base.c_str()), 0);
  assert_true(problem.find("free some space") != problem.npos);
  assert_int_equal(left, 0);
}

// After a power cut: what is visible is whole, and its lock tells that the master may not know it.
void all_is_on_the_disk_before_it_is_visible(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path source = at.sample();
  std::vector<std::string> synced;
  const auto writer = at.storage->begin("one");
  writer->add(source, std::nullopt);
  order = &synced;
  writer->commit();
  order = nullptr;
  const auto when = [&](const fs::path &path) {
    return std::find(synced.begin(), synced.end(), path.string()) - synced.begin();
  };
  const fs::path base = fs::canonical(at.base), locks = base / ".partial", tree = locks / "one";
  const auto visible = when("rename");
  for (const fs::path &path : {tree / "root.txt", tree / "subdir/file1.txt", tree / "subdir",
                               tree / "empty_dir", tree / manifest_name, tree, locks})
    assert_in_range(when(path), 0, visible - 1);
  assert_in_range(when(base), visible + 1, synced.size() - 1);
  writer->announced();
}

void sweep_spares_what_a_living_process_writes(void **state) {
  Fixture &at = fixture_of(state);
  const auto own = at.storage->begin("own");
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto writer = at.storage->begin("other");
    __real_write(ready[1], "r", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_true(at.storage->sweep().empty());
  assert_true(fs::exists(at.base / ".partial/own"));
  assert_true(fs::exists(at.base / ".partial/other"));
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, nullptr, 0), child);
  assert_true(at.storage->sweep().empty());
  assert_false(fs::exists(at.base / ".partial/other"));
  own->commit();
  assert_true(at.storage->sweep().empty());  // committed, and about to be announced
  own->announced();
  close(ready[0]);
  close(ready[1]);
}

void sweep_removes_what_a_dead_process_left_though_its_child_lives(void **state) {
  Fixture &at = fixture_of(state);
  int forever[2];
  assert_int_equal(pipe(forever), 0);
  assert_int_equal(in_child([&] {
                     const auto writer = at.storage->begin("one");
                     if (fork() == 0) {  // keeps the inherited lock until the test closes the pipe
                       char byte = 0;
                       close(forever[1]);
                       (void)!read(forever[0], &byte, 1);
                       _exit(0);
                     }
                     _exit(0);
                   }),
                   0);
  assert_true(at.storage->sweep().empty());
  assert_int_equal(at.names_in_partial(), 0);
  close(forever[0]);
  close(forever[1]);
}

void sweep_removes_what_has_no_lock(void **state) {
  Fixture &at = fixture_of(state);
  at.file("base/.partial/one/file");
  const fs::path made = at.file("base/.partial/.lock-being-made", "");
  at.storage->sweep();
  assert_int_equal(at.names_in_partial(), 0);
  assert_true(fs::exists(made));
  const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
  assert_int_equal(utimensat(AT_FDCWD, made.c_str(), long_ago, 0), 0);
  at.storage->sweep();
  assert_false(fs::exists(made));
}

void sweep_without_a_base_finds_nothing(void **state) {
  Fixture &at = fixture_of(state);
  assert_true(at.storage->sweep().empty());
  assert_false(fs::exists(at.base));
}

void sweep_names_the_unannounced_until_settled(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path source = at.sample();
  for (const char *id : {"one", "two"})
    in_child([&] {
      const auto writer = at.storage->begin(id);
      writer->add(source, std::nullopt);
      writer->commit();
      _exit(0);
    });
  const std::vector<std::string> both{"one", "two"};
  assert_equal(at.storage->sweep(), both);
  assert_equal(at.storage->sweep(), both);
  const auto elsewhere = make_storage_from_uri(at.base.string(), at.logger);
  assert_true(elsewhere->sweep().empty());  // ours to decide now
  at.storage->settle("one");
  at.storage->remove("two");
  at.storage->settle("two");
  assert_true(at.storage->sweep().empty());
  assert_int_equal(at.names_in_partial(), 0);
  at.storage->restore("one", nullptr, true);
}

void interrupted_removal_is_finished_by_a_sweep(void **state) {
  Fixture &at = fixture_of(state);
  store(*at.storage, at.sample());
  const int status =
      in_child([&] { fs::rename(at.base / "one", at.base / ".partial/.removed-by-the-dead"); });
  assert_int_equal(status, 0);
  at.storage->sweep();
  assert_int_equal(at.names_in_partial(), 0);
}

void forked_child_does_not_touch_the_checkpoint_of_its_parent(void **state) {
  Fixture &at = fixture_of(state);
  auto writer = at.storage->begin("one");
  assert_int_equal(in_child([&] {
                     assert_throws(Code::state, "forked child", [&] { writer->commit(); });
                     assert_throws(Code::state, "forked child", [&] { writer->abort(); });
                     writer.reset();
                   }),
                   0);
  assert_int_equal(at.names_in_partial(), 2);
  writer->commit();
}

void same_id_from_two_processes_is_a_conflict(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  assert_int_equal(in_child([&] { at.storage->begin("one"); }), 1);
  writer->commit();
}

}  // namespace

}  // namespace det::storage

int main() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      STORAGE_TEST(death_at_any_step_shows_nothing_or_everything),
      STORAGE_TEST(death_at_any_step_with_many_files_shows_nothing_or_everything),
      STORAGE_TEST(full_disk_at_any_step_shows_nothing_and_cleans_up),
      STORAGE_TEST(exhausted_quota_at_any_step_shows_nothing_and_cleans_up),
      STORAGE_TEST(denied_access_at_any_step_shows_nothing_and_cleans_up),
      STORAGE_TEST(read_only_file_system_at_any_step_shows_nothing_and_cleans_up),
      STORAGE_TEST(failing_disk_at_any_step_shows_nothing_and_cleans_up),
      STORAGE_TEST(small_file_system_that_fills_up_is_an_error_and_is_left_empty),
      STORAGE_TEST(all_is_on_the_disk_before_it_is_visible),
      STORAGE_TEST(sweep_spares_what_a_living_process_writes),
      STORAGE_TEST(sweep_removes_what_a_dead_process_left_though_its_child_lives),
      STORAGE_TEST(sweep_removes_what_has_no_lock),
      STORAGE_TEST(sweep_without_a_base_finds_nothing),
      STORAGE_TEST(sweep_names_the_unannounced_until_settled),
      STORAGE_TEST(interrupted_removal_is_finished_by_a_sweep),
      STORAGE_TEST(forked_child_does_not_touch_the_checkpoint_of_its_parent),
      STORAGE_TEST(same_id_from_two_processes_is_a_conflict),
  };
  return cmocka_run_group_tests_name("storage crashes", tests, nullptr, nullptr);
}
