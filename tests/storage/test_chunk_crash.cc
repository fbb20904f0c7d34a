// Saving in chunks, removing and sweeping die at every single step, and at random instants beside
// others that save and sweep; what stands then is whole, and what nobody names goes.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <functional>

#include "tests/assert_equal.h"
#include "tests/storage/chunk_files.h"

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

}  // namespace

#define STEP(result, name, parameters, arguments)                       \
  extern "C" result __real_##name parameters;                           \
  extern "C" result __wrap_##name parameters {                          \
    return fails() ? static_cast<result>(-1) : __real_##name arguments; \
  }

STEP(int, mkdirat, (int at, const char *path, mode_t mode), (at, path, mode))
STEP(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
STEP(int, link, (const char *from, const char *to), (from, to))
STEP(int, fchmodat, (int at, const char *path, mode_t mode, int flags), (at, path, mode, flags))
STEP(int, fsync, (int fd), (fd))
STEP(int, syncfs, (int fd), (fd))
STEP(int, renameat, (int from, const char *name, int to, const char *as), (from, name, to, as))
STEP(int, renameat2, (int from, const char *name, int to, const char *as, unsigned flags),
     (from, name, to, as, flags))
STEP(int, unlinkat, (int at, const char *path, int flags), (at, path, flags))

namespace det::storage {

namespace {

// Runs `body` in a child; gives back its exit status, or minus the signal that ended it.
pid_t start_child(const std::function<void()> &body) {
  const pid_t child = fork();
  if (child != 0) return child;
  try {
    body();
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    _exit(1);
  }
  _exit(0);
}

int wait_for_child(pid_t child) {
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::unique_ptr<Storage> another(const DeduplicatedFixture &at) {
  return make_storage(deduplicated_config(at.base), std::nullopt, std::make_shared<Logger>());
}

void store(Storage &storage, const std::string &id, const fs::path &source) {
  const auto writer = storage.begin(id);
  writer->add(source, std::nullopt);
  writer->commit();
  writer->announced();
}

// Removes what was never announced, and sweeps twice: the first may have to wait for savers whose
// trees it clears away itself.
void clean(const DeduplicatedFixture &at) {
  for (int round = 0; round < 2; ++round) {
    const auto storage = another(at);
    for (const std::string &id : storage->sweep()) {
      storage->remove(id);
      storage->settle(id);
    }
    storage->reclaim();
  }
}

void all_is_well(const DeduplicatedFixture &at) {
  clean(at);
  for (const auto &entry : fs::directory_iterator(at.base))
    if (entry.path().filename().string()[0] != '.')
      another(at)->restore(entry.path().filename(), nullptr, true);
  assert_equal(stored_chunks(at.base), named_chunks(at.base));
  assert_int_equal(at.names_in_partial(), 0);
}

// The model, changed in one place.
fs::path changed_model(const DeduplicatedFixture &at, const std::string &name, unsigned number) {
  std::string bytes = random_bytes(1 << 20, 1);
  bytes.replace((number % 7) * 100'000, 8, "changed" + std::to_string(number % 10));
  at.file(name + "/model.bin", bytes);
  at.file(name + "/small.txt", "small");
  return at.root / name;
}

// Until `body` needs fewer steps than that.
int at_each_step(const DeduplicatedFixture &at, const std::function<void()> &prepare,
                 const std::function<void(Storage &)> &body) {
  for (int step = 0;; ++step) {
    prepare();
    const pid_t child = start_child([&] {
      const auto storage = another(at);
      steps_left = step;
      body(*storage);
    });
    const int status = wait_for_child(child);
    if (status != 0) assert_int_equal(status, 9);
    all_is_well(at);
    if (status == 0) return step;
  }
}

void death_at_any_step_of_a_save_loses_and_leaves_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  store(*at.storage, "kept", changed_model(at, "first", 1));
  const fs::path source = changed_model(at, "second", 2);
  const int steps = at_each_step(
      at, [] {}, [&](Storage &storage) { store(storage, "one", source); });
  assert_true(steps > 20);
  assert_true(fs::exists(at.base / "kept") && fs::exists(at.base / "one"));
}

void death_at_any_step_of_a_removal_and_a_sweep_loses_and_leaves_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  store(*at.storage, "kept", changed_model(at, "first", 1));
  const fs::path source = changed_model(at, "second", 2);
  const auto prepare = [&] {
    if (fs::exists(at.base / "one")) another(at)->remove("one");
    store(*another(at), "one", source);
  };
  const int steps = at_each_step(at, prepare, [&](Storage &storage) {
    storage.withdraw("one");
    storage.remove("one");
    storage.reclaim();
    storage.settle("one");
  });
  assert_true(steps > 10);
  const int some = at_each_step(at, prepare, [&](Storage &storage) {
    storage.remove_matching("one", {"*.bin"});
    storage.reclaim();
  });
  assert_true(some > 10);
  assert_true(fs::exists(at.base / "kept"));
}

constexpr const char *owner = "trial 1 of here";

// As far as a process comes that saves in the background.
void save_later(Storage &storage, const fs::path &source) {
  const auto writer = storage.begin("one");
  writer->copy(source, std::nullopt);
  writer->seal(owner);
  writer->commit();
  writer->announced();
}

void finish_sealed(Storage &storage) {
  for (const auto &writer : storage.take_sealed(owner)) {
    writer->commit();
    writer->announced();
  }
}

// Each chunk that is stored is named, before `one` goes and after it.
void all_is_well_without_one(const DeduplicatedFixture &at) {
  finish_sealed(*another(at));
  all_is_well(at);
  another(at)->remove("one");
  all_is_well(at);
}

void death_at_any_step_of_a_sealed_save_loses_and_leaves_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  store(*at.storage, "kept", changed_model(at, "first", 1));
  const fs::path source = changed_model(at, "second", 2);
  int status = 9, step = 0;
  for (; status == 9; ++step) {
    status = wait_for_child(start_child([&] {
      const auto storage = another(at);
      steps_left = step;
      save_later(*storage, source);
    }));
    all_is_well_without_one(at);
  }
  assert_int_equal(status, 0);
  assert_true(step > 20);
}

// What another process had left of it just before it would have been visible.
void death_at_any_step_of_finishing_a_sealed_save_loses_and_leaves_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = changed_model(at, "first", 1);
  int status = 9;
  for (int step = 0; status == 9; ++step) {
    assert_int_equal(wait_for_child(start_child([&] {
                       const auto storage = another(at);
                       const auto writer = storage->begin("one");
                       writer->copy(source, std::nullopt);
                       writer->finish({"model.bin"});
                       at.file("changed/model.bin", random_bytes(1 << 20, 7));
                       writer->copy(at.root / "changed", std::nullopt);
                       writer->seal(owner);
                       _exit(0);
                     })),
                     0);
    status = wait_for_child(start_child([&] {
      const auto storage = another(at);
      steps_left = step;
      finish_sealed(*storage);
    }));
    finish_sealed(*another(at));
    assert_true(fs::exists(at.base / "one"));
    all_is_well_without_one(at);
  }
  assert_int_equal(status, 0);
}

void make_old(const fs::path &path) {
  const timespec week_ago{std::time(nullptr) - 8 * 24 * 3600, 0}, times[2] = {week_ago, week_ago};
  assert_int_equal(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

void what_nobody_came_for_goes_with_the_sweep_of_any_store(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = changed_model(at, "first", 1);
  int status = 9;
  for (int step = 0; status == 9; ++step) {
    assert_int_equal(wait_for_child(start_child([&] {
                       const auto storage = another(at);
                       storage->serve("the first store");
                       const auto writer = storage->begin("one");
                       writer->copy(source, std::nullopt);
                       writer->seal(owner);
                       writer->finish({"model.bin"});
                       _exit(0);
                     })),
                     0);
    make_old(at.base / ".partial/one@sealed");
    status = wait_for_child(start_child([&] {
      const auto storage = another(at);
      storage->serve("another store");
      steps_left = step;
      storage->sweep();
    }));
    for (int round = 0; round < 2; ++round) {
      const auto storage = another(at);
      storage->serve("another store");
      assert_true(storage->sweep().empty());
    }
    assert_int_equal(at.names_in_partial(), 0);
    assert_true(stored_chunks(at.base).empty());
  }
  assert_int_equal(status, 0);
}

void errors_at_any_step_of_a_save_leave_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = changed_model(at, "first", 1);
  for (const auto &[os_errno, code] : {std::pair(ENOSPC, Code::full), std::pair(EIO, Code::io)})
    for (int step = 0;; ++step) {
      assert_true(step < 1000);
      step_errno = os_errno;
      steps_left = step;
      std::string problem;
      try {
        store(*at.storage, "one", source);
      } catch (const Error &error) {
        problem = error.what();
        assert_int_equal(error.code, code);
      }
      const bool failed = steps_left < 0;
      steps_left = -1;
      if (!problem.empty()) assert_false(fs::exists(at.base / "one"));
      if (fs::exists(at.base / "one")) {
        at.storage->restore("one", nullptr, true);
        at.storage->remove("one");
      }
      // A lock that could not be removed belongs to this process, which lives.
      fs::remove(at.base / ".partial/one.lock");
      at.storage->sweep();
      assert_true(stored_chunks(at.base).empty());
      if (!failed) break;
    }
}

// Ones that were announced, written down where a kill does not reach.
struct Announced {
  static constexpr size_t most = 4096;
  std::atomic<size_t> count{0};
  char ids[most][32];

  void add(const std::string &id) {
    const size_t place = count;
    std::snprintf(ids[place], sizeof ids[place], "%s", id.c_str());
    count = place + 1;
  }
};

// Saves and removes, a few at a time, and forgets one before it goes.
void work(const DeduplicatedFixture &at, const std::string &name, int round, Announced &announced) {
  const auto storage = another(at);
  for (unsigned number = 0;; ++number) {
    const std::string id = name + "-" + std::to_string(round) + "-" + std::to_string(number);
    store(*storage, id, changed_model(at, name, number + static_cast<unsigned>(round)));
    announced.add(id);
    if (number < 2) continue;
    storage->remove(name + "-" + std::to_string(round) + "-" + std::to_string(number - 2));
    storage->reclaim();
  }
}

void kills_at_random_instants_lose_and_leave_nothing(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  void *const memory = mmap(nullptr, 2 * sizeof(Announced), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(memory != MAP_FAILED);
  auto *const announced = static_cast<Announced *>(memory);
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    announced[0].count = announced[1].count = 0;
    const pid_t first = start_child([&] { work(at, "a", round, announced[0]); });
    const pid_t second = start_child([&] { work(at, "b", round, announced[1]); });
    const pid_t sweeper = start_child([&] {
      for (;;) another(at)->sweep();
    });
    // Instants that differ, counted in what has been done so far.
    const size_t until = 1 + random() % 3;
    while (announced[0].count + announced[1].count < until) usleep(500);
    usleep(random() % 20'000);
    for (const pid_t child : {sweeper, first, second}) {
      kill(child, SIGKILL);
      assert_int_equal(wait_for_child(child), -SIGKILL);
      usleep(random() % 5'000);
    }
    for (int saver = 0; saver < 2; ++saver) {
      const size_t count = announced[saver].count;
      for (size_t i = count < 2 ? 0 : count - 2; i < count; ++i) {
        const std::string id = announced[saver].ids[i];
        // The last removal may have come to it before the next was written down.
        if (i + 1 < count || fs::exists(at.base / id)) another(at)->restore(id, nullptr, true);
      }
    }
    all_is_well(at);
  }
  munmap(memory, 2 * sizeof(Announced));
}

// The protocol of chunk_sweep.h, one step of a saver against one of a sweep.
void a_sweep_waits_for_who_may_count_on_a_chunk(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = changed_model(at, "first", 1);
  store(*at.storage, "one", source);
  // Counts on all chunks of "one", which then goes.
  const auto writer = another(at)->begin("two");
  writer->add(source, std::nullopt);
  at.storage->remove("one");
  at.storage->reclaim();
  writer->commit();
  writer->announced();
  at.storage->reclaim();
  at.storage->restore("two", nullptr, true);
  all_is_well(at);
}

void what_is_condemned_gets_another_name(void **state) {
  DeduplicatedFixture &at = deduplicated(state);
  const fs::path source = changed_model(at, "first", 1);
  store(*at.storage, "one", source);
  // One that began before and goes on: what is condemned meanwhile has to wait for it.
  const auto other = another(at);
  const auto before = other->begin("before");
  at.file("other/file", random_bytes(100 << 10, 99));
  before->add(at.root / "other", std::nullopt);
  const std::set<std::string> names = named_chunks(at.base);
  at.storage->remove("one");
  at.storage->reclaim();
  assert_true(stored_chunks(at.base).size() > names.size());
  // One that begins now must not count on what is condemned.
  store(*another(at), "two", source);
  for (const std::string &name : named_chunks(at.base)) assert_true(name.ends_with("-1"));
  before->abort();
  at.storage->reclaim();
  at.storage->reclaim();
  at.storage->restore("two", nullptr, true);
  all_is_well(at);
}

}  // namespace

}  // namespace det::storage

int main() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      CHUNK_TEST(death_at_any_step_of_a_save_loses_and_leaves_nothing),
      CHUNK_TEST(death_at_any_step_of_a_removal_and_a_sweep_loses_and_leaves_nothing),
      CHUNK_TEST(death_at_any_step_of_a_sealed_save_loses_and_leaves_nothing),
      CHUNK_TEST(death_at_any_step_of_finishing_a_sealed_save_loses_and_leaves_nothing),
      CHUNK_TEST(what_nobody_came_for_goes_with_the_sweep_of_any_store),
      CHUNK_TEST(errors_at_any_step_of_a_save_leave_nothing),
      CHUNK_TEST(kills_at_random_instants_lose_and_leave_nothing),
      CHUNK_TEST(a_sweep_waits_for_who_may_count_on_a_chunk),
      CHUNK_TEST(what_is_condemned_gets_another_name),
  };
  return cmocka_run_group_tests_name("crashes of deduplicated checkpoints", tests, nullptr,
                                     nullptr);
}
