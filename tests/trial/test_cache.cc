// Cached data sets: written once, read in every order, damaged and cut in every place.
#include "core/trial/cache/cache.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <future>
#include <numeric>
#include <thread>

#include "core/base/error.h"
#include "core/trial/cache/cache_reader.h"
#include "tests/assert_equal.h"
#include "tests/expect_error.h"
#include "tests/temporary_directory.h"

namespace det::test {
namespace {

namespace fs = std::filesystem;
using trial::CacheReader;
using trial::CacheReaderOptions;
using trial::OpenedCache;
using Epoch = std::vector<int64_t>;

const trial::CacheIdentity digits{"digits", "1_train"};

OpenedCache open_now(const fs::path &root, const trial::CacheIdentity &identity = digits) {
  return trial::open_cache(root, identity, std::chrono::milliseconds(0));
}

void write_texts(const fs::path &root, const std::vector<std::string> &records,
                 const trial::CacheIdentity &identity = digits) {
  const OpenedCache opened = open_now(root, identity);
  assert_non_null(opened.writer.get());
  for (const std::string &record : records) opened.writer->add(record);
  opened.writer->commit("what they are");
}

// Records "0", "1", ... have sizes that differ.
std::shared_ptr<const trial::Cache> numbers(const fs::path &root, int count) {
  std::vector<std::string> records;
  for (int i = 0; i < count; ++i) records.push_back(std::to_string(i));
  write_texts(root, records);
  return open_now(root).cache;
}

Epoch next_epoch(CacheReader &reader, size_t buffer_size, size_t most) {
  std::string buffer(buffer_size, '\0');
  std::vector<size_t> sizes(most);
  Epoch epoch;
  while (const size_t count = reader.next(buffer, sizes)) {
    size_t at = 0;
    for (size_t i = 0; i < count; ++i) {
      epoch.push_back(std::stoll(buffer.substr(at, sizes[i])));
      at += sizes[i];
    }
  }
  return epoch;
}

Epoch next_epoch(CacheReader &reader) { return next_epoch(reader, 64, 7); }

void a_shard_goes_on_over_epochs(void **) {
  const TemporaryDirectory root;
  const auto cache = numbers(root.path(), 10);
  CacheReaderOptions options;
  options.shuffle = true;
  options.seed = 1;
  options.offset = 28;
  CacheReader resumed(cache, options);
  assert_equal(next_epoch(resumed), (Epoch{3, 8}));
  assert_equal(next_epoch(resumed), (Epoch{3, 8, 4, 9, 2, 6, 0, 1, 5, 7}));
  assert_equal(next_epoch(resumed), (Epoch{9, 5, 2, 4, 7, 1, 0, 8, 6, 3}));
  options.offset = 0;
  options.reshuffle = false;
  CacheReader same(cache, options);
  assert_equal(next_epoch(same), (Epoch{2, 9, 6, 4, 0, 3, 1, 7, 8, 5}));
  assert_equal(next_epoch(same), (Epoch{2, 9, 6, 4, 0, 3, 1, 7, 8, 5}));
}

void shards_are_disjoint_and_of_one_size_where_it_is_asked_for(void **) {
  const TemporaryDirectory root;
  const auto cache = numbers(root.path(), 10);
  for (const bool drop : {false, true}) {
    Epoch all;
    for (int64_t shard = 0; shard < 3; ++shard) {
      CacheReaderOptions options;
      options.shard = shard;
      options.shards = 3;
      options.drop_remainder = drop;
      CacheReader reader(cache, options);
      const Epoch epoch = next_epoch(reader);
      assert_equal(static_cast<int64_t>(epoch.size()), reader.length());
      if (drop) assert_equal(reader.length(), 3);
      all.insert(all.end(), epoch.begin(), epoch.end());
      CacheReader by_one(cache, options);
      assert_equal(next_epoch(by_one, 1, 1), epoch);
    }
    std::sort(all.begin(), all.end());
    Epoch expected(drop ? 9 : 10);
    std::iota(expected.begin(), expected.end(), 0);
    assert_equal(all, expected);
  }
}

void what_cannot_be_read_so_is_refused(void **) {
  const TemporaryDirectory root;
  const auto cache = numbers(root.path(), 11);
  const auto refused = [&](int64_t shard, int64_t shards, int64_t offset) {
    CacheReaderOptions options;
    options.shard = shard;
    options.shards = shards;
    options.offset = offset;
    return expect_error(Code::invalid, [&] { CacheReader(cache, options); });
  };
  assert_true(contains(refused(0, 12, 0), "11 records"));
  assert_true(contains(refused(3, 3, 0), "no shard 3 of 3"));
  assert_true(contains(refused(0, 0, 0), "no shard 0 of 0"));
  assert_true(contains(refused(0, 1, -1), "-1"));
  CacheReader reader(cache, {});
  const std::string message =
      expect_error(Code::invalid, [&] { static_cast<void>(next_epoch(reader, 1, 7)); });
  assert_true(contains(message, "largest record has 2"));
}

void names_stay_below_the_directory(void **) {
  const TemporaryDirectory root;
  for (const char *name :
       {"..", ".", "../../escape", "/etc", "a/b", "%2E", "\xE6\x95\xB0", "-rf *"}) {
    write_texts(root / "data", {name}, {name, name});
    assert_non_null(open_now(root / "data", {name, name}).cache.get());
    assert_equal(fs::canonical(trial::cache_directory(root / "data", {name, name}))
                     .parent_path()
                     .parent_path(),
                 fs::canonical(root / "data"));
  }
  assert_equal(std::distance(fs::directory_iterator(root.path()), {}), 1);
  for (const std::string &name : {std::string(), std::string(300, 'x'), std::string("\xFF")})
    expect_error(Code::invalid, [&] { open_now(root / "none", {"id", name}); });
  assert_false(fs::exists(root / "none"));
}

void damage_and_cuts_are_found_everywhere(void **) {
  const TemporaryDirectory root;
  write_texts(root.path(), {"first", "", "third"});
  const fs::path path = trial::cache_directory(root.path(), digits) / trial::cache_file_name;
  const std::string whole = read_file(path);
  const auto expect_damage = [&](const std::string &bytes) {
    write_file_durably(path, bytes);
    const std::string message = expect_error(Code::corrupt, [&] {
      std::string buffer(64, '\0');
      std::vector<size_t> sizes(3);
      CacheReader(open_now(root.path()).cache, {}).next(buffer, sizes);
    });
    assert_true(contains(message, path.string()));
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    expect_damage(damaged);
    expect_damage(whole.substr(0, i));
  }
  expect_damage(whole + '\0');
  fs::create_directories(trial::cache_directory(root.path(), {"other", "1"}));
  fs::copy_file(path, trial::cache_directory(root.path(), {"other", "1"}) / trial::cache_file_name);
  expect_error(Code::corrupt, [&] { open_now(root.path(), {"other", "1"}); });
  fs::remove(path);
  assert_int_equal(mkfifo(path.c_str(), 0600), 0);
  expect_error(Code::corrupt, [&] { open_now(root.path()); });
}

void a_writer_that_gives_up_or_is_killed_leaves_nothing(void **) {
  const TemporaryDirectory root;
  open_now(root.path()).writer->add("half");
  assert_equal(
      std::distance(fs::directory_iterator(trial::cache_directory(root.path(), digits)), {}),
      1);  // the lock
  int ready[2];
  assert_int_equal(pipe(ready), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    const OpenedCache opened = open_now(root.path());
    opened.writer->add(std::string(3 << 20U, 'x'));
    static_cast<void>(!write(ready[1], "", 1));
    for (;;) pause();
  }
  char byte = 0;
  assert_int_equal(read(ready[0], &byte, 1), 1);
  const std::string message = expect_error(Code::timeout, [&] { open_now(root.path()); });
  assert_true(contains(message, "another process"));
  auto next = std::async(std::launch::async,
                         [&] { return trial::open_cache(root.path(), digits, std::nullopt); });
  kill(writer, SIGKILL);
  assert_int_equal(waitpid(writer, nullptr, 0), writer);
  const OpenedCache taken_over = next.get();
  assert_non_null(taken_over.writer.get());
  taken_over.writer->add("whole");
  taken_over.writer->commit("");
  assert_equal(open_now(root.path()).cache->largest(), size_t{5});
  for (const int end : ready) close(end);
}

void one_of_many_writes(void **) {
  const TemporaryDirectory root;
  std::vector<std::future<bool>> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(std::async(std::launch::async, [&] {
      OpenedCache opened = trial::open_cache(root.path(), digits, std::nullopt);
      if (!opened.writer) return false;
      opened.writer->add("a record");
      opened.writer->commit("");
      return true;
    }));
  int writers = 0;
  for (auto &one : all) writers += one.get() ? 1 : 0;
  assert_equal(writers, 1);
}

// As on a full disk: the system takes no more bytes.
void a_failed_write_leaves_nothing(void **) {
  const TemporaryDirectory root;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20U, 1 << 20U};
    setrlimit(RLIMIT_FSIZE, &limit);
    const OpenedCache opened = open_now(root.path());
    int failures = 0;
    for (int i = 0; i < 2; ++i) try {
        opened.writer->add(std::string(2 << 20U, 'x'));
      } catch (const Error &error) {
        failures += error.code == (i == 0 ? Code::io : Code::state) ? 1 : 10;
      }
    try {
      opened.writer->commit("");
    } catch (const Error &) {
      failures += 1;
    }
    _exit(failures);
  }
  int status = 0;
  waitpid(child, &status, 0);
  assert_int_equal(WEXITSTATUS(status), 3);
  assert_non_null(open_now(root.path()).writer.get());
}

}  // namespace
}  // namespace det::test

int test_cache() {
  using namespace det::test;
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_shard_goes_on_over_epochs),
      cmocka_unit_test(shards_are_disjoint_and_of_one_size_where_it_is_asked_for),
      cmocka_unit_test(what_cannot_be_read_so_is_refused),
      cmocka_unit_test(names_stay_below_the_directory),
      cmocka_unit_test(damage_and_cuts_are_found_everywhere),
      cmocka_unit_test(a_writer_that_gives_up_or_is_killed_leaves_nothing),
      cmocka_unit_test(one_of_many_writes),
      cmocka_unit_test(a_failed_write_leaves_nothing),
  };
  return cmocka_run_group_tests_name("cache", tests, nullptr, nullptr);
}
