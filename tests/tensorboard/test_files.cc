#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <vector>

#include "core/tensorboard/files.h"
#include "tests/cmocka.h"
#include "tests/expect_error.h"
#include "tests/failing_memory.h"
#include "tests/temporary_directory.h"

namespace {

using namespace det;
using namespace det::tensorboard;
namespace fs = std::filesystem;

constexpr const char *remote = "c-1/tensorboard/experiment/1/trial/2";

// A storage, and a TMPDIR of the test's own.
struct Place {
  TemporaryDirectory storage;
  TemporaryDirectory temporary;

  Place() { setenv("TMPDIR", temporary.path().c_str(), 1); }
  ~Place() { unsetenv("TMPDIR"); }

  TensorboardFiles files(TensorboardMode mode, int rank = 0) const {
    return {mode, {storage.path(), "c-1", 1, 2, "a.1", rank}};
  }
};

// Writes a file and dates it back, so that it counts as settled.
void write(const fs::path &path, const std::string &text, int age_s = 60) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
}

std::vector<std::string> files_in(const fs::path &root) {
  std::vector<std::string> found;
  for (const auto &entry : fs::recursive_directory_iterator(root))
    if (!entry.is_directory()) found.push_back(entry.path().lexically_relative(root).string());
  std::sort(found.begin(), found.end());
  return found;
}

unsigned mode_of(const fs::path &path) {
  struct stat about {};
  assert_int_equal(stat(path.c_str(), &about), 0);
  return about.st_mode & 0777U;
}

void nothing_is_made_before_it_is_asked_for(void **) {
  const Place place;
  place.files(TensorboardMode::automatic);
  place.files(TensorboardMode::manual).upload(nullptr, nullptr);
  assert_true(fs::is_empty(place.storage.path()));
  assert_true(fs::is_empty(place.temporary.path()));
}

void chief_writes_into_the_storage_in_automatic_mode(void **) {
  const Place place;
  const fs::path path = place.files(TensorboardMode::automatic).path();
  assert_string_equal(path.c_str(), (place.storage / remote).c_str());
  assert_true(fs::is_directory(path));
  assert_true(fs::is_empty(place.temporary.path()));
}

void other_ranks_write_to_a_directory_of_their_own(void **) {
  const Place place;
  const fs::path path = place.files(TensorboardMode::automatic, 3).path();
  assert_string_equal(path.c_str(), (place.temporary / "tensorboard-a.1-3").c_str());
  assert_int_equal(mode_of(path), 0700);
  assert_true(fs::is_empty(place.storage.path()));
}

void manual_mode_writes_to_a_local_directory(void **) {
  const Place place;
  const TensorboardFiles files = place.files(TensorboardMode::manual);
  assert_string_equal(files.path().c_str(), (place.temporary / "tensorboard-a.1-0").c_str());
  assert_string_equal(files.path().c_str(), (place.temporary / "tensorboard-a.1-0").c_str());
}

void local_directory_is_below_tmp_by_default(void **) {
  unsetenv("TMPDIR");
  const std::string allocation = "detcore-test-" + std::to_string(getpid());
  const TensorboardFiles files(TensorboardMode::manual, {"/s", "c", 1, 2, allocation, 0});
  const fs::path path = files.path();
  assert_string_equal(path.c_str(), ("/tmp/tensorboard-" + allocation + "-0").c_str());
  fs::remove(path);
}

void a_local_directory_that_is_a_link_is_refused(void **) {
  const Place place;
  fs::create_directory_symlink(place.storage.path(), place.temporary / "tensorboard-a.1-0");
  const auto message =
      expect_error(Code::access, [&] { place.files(TensorboardMode::manual).path(); });
  assert_true(contains(message, "tensorboard-a.1-0"));
}

void a_local_directory_of_another_user_is_refused(void **) {
  if (geteuid() != 0) skip();
  const Place place;
  fs::create_directory(place.temporary / "tensorboard-a.1-0");
  assert_int_equal(chown((place.temporary / "tensorboard-a.1-0").c_str(), 1, 1), 0);
  expect_error(Code::access, [&] { place.files(TensorboardMode::manual).path(); });
}

void directories_in_storage_are_shared_as_it_is(void **) {
  struct Row {
    unsigned storage, umask, expected;
  };
  for (const Row &row : {Row{0755, 0, 0775}, Row{0700, 0077, 0700}, Row{0770, 0077, 0770},
                         Row{02775, 0022, 02775}, Row{0777, 0022, 01777}, Row{01777, 077, 01777}}) {
    const Place place;
    assert_int_equal(chmod(place.storage.path().c_str(), row.storage), 0);
    const mode_t before = umask(row.umask);
    place.files(TensorboardMode::automatic).path();
    umask(before);
    for (fs::path part = place.storage / remote; part != place.storage.path();
         part = part.parent_path()) {
      struct stat about {};
      assert_int_equal(stat(part.c_str(), &about), 0);
      assert_int_equal(about.st_mode & 07777U, row.expected);
    }
  }
}

void ids_that_would_leave_the_storage_are_refused(void **) {
  expect_error(Code::invalid, [] {
    TensorboardFiles(TensorboardMode::manual, {"/s", "..", 1, 2, "a", 0});
  });
  expect_error(Code::invalid, [] {
    TensorboardFiles(TensorboardMode::manual, {"/s", "c", 1, 2, "../a", 0});
  });
}

void without_a_trial_the_path_ends_at_the_experiment(void **) {
  const Place place;
  const TensorboardFiles files(TensorboardMode::automatic,
                               {place.storage.path(), "c", 7, 0, "", 0});
  assert_string_equal(files.path().c_str(), (place.storage / "c/tensorboard/experiment/7").c_str());
}

void upload_keeps_names_contents_and_permissions(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "sub/any name", "text");
  write(files.path() / "\xff\xfe.bin", "bytes");
  fs::permissions(files.path() / "sub/any name", fs::perms::owner_read);
  files.upload(nullptr, nullptr);
  const fs::path target = place.storage / remote;
  assert_equal(files_in(target), std::vector<std::string>{"sub/any name", "\xff\xfe.bin"});
  assert_string_equal(read_file(target / "sub/any name").c_str(), "text");
  assert_int_equal(mode_of(target / "sub/any name"), 0400);
}

void without_memory_an_upload_is_done_another_time(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "in a directory/a file", "text");
  write(files.path() / "another file", "bytes");
  test::with_each_allocation_failing([&] { files.upload(nullptr, nullptr); });
  const fs::path target = place.storage / remote;
  assert_true(
      (files_in(target) == std::vector<std::string>{"another file", "in a directory/a file"}));
  assert_string_equal(read_file(target / "in a directory/a file").c_str(), "text");
}

void second_upload_copies_only_what_changed(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "a", "1");
  write(files.path() / "b", "1");
  std::vector<std::string> asked;
  const storage::Selector selector = [&](const std::string &path) {
    asked.push_back(path);
    return true;
  };
  files.upload(selector, nullptr);
  asked.clear();
  write(files.path() / "b", "2", 120);  // older than the last upload, and still a change
  files.upload(selector, nullptr);
  assert_equal(asked, std::vector<std::string>{(files.path() / "b").string()});
  assert_string_equal(read_file(place.storage / remote / "b").c_str(), "2");
}

// Within one tick of the clock that stamps files, two contents can look the same.
void a_file_just_written_is_copied_again(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  const auto stamp = fs::file_time_type::clock::now() + std::chrono::hours(1);
  for (const char *text : {"1", "2"}) {
    std::ofstream(files.path() / "a") << text;
    fs::last_write_time(files.path() / "a", stamp);
    files.upload(nullptr, nullptr);
    assert_string_equal(read_file(place.storage / remote / "a").c_str(), text);
  }
}

void a_rejected_file_is_asked_about_again_only_once_changed(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "a", "1");
  files.upload([](const std::string &) { return false; }, nullptr);
  files.upload(nullptr, nullptr);
  assert_false(fs::exists(place.storage / remote / "a"));
  write(files.path() / "a", "12");
  files.upload(nullptr, nullptr);
  assert_true(fs::exists(place.storage / remote / "a"));
}

void a_failed_upload_is_tried_again(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "a", "1");
  expect_error(Code::callback, [&] {
    files.upload([](const std::string &) -> bool { throw Error(Code::callback, "stop"); }, nullptr);
  });
  files.upload(nullptr, nullptr);
  assert_true(fs::exists(place.storage / remote / "a"));
}

void mangler_renames_in_storage(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual, 3);
  write(files.path() / "sub/w.pt.trace.json", "1");
  files.upload(nullptr, rank_aware_name);
  assert_equal(files_in(place.storage / remote), std::vector<std::string>{"sub/w#3.pt.trace.json"});
}

void mangled_names_that_escape_are_refused(void **) {
  const Place place;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "a", "1");
  for (const char *name : {"/tmp/x", "../x", "x/../../y", "x/..", "..", "", ".", "x/"}) {
    const auto message = expect_error(Code::invalid, [&] {
      files.upload(nullptr, [&](const std::string &, int) { return name; });
    });
    assert_true(contains(message, name));
  }
  assert_true(files_in(place.storage.path()).empty());
}

void links_in_storage_are_not_followed(void **) {
  const Place place;
  const TemporaryDirectory elsewhere;
  TensorboardFiles files = place.files(TensorboardMode::manual);
  write(files.path() / "sub/a", "1");
  write(files.path() / "b", "new");
  write(elsewhere / "b", "kept");
  fs::create_directories(place.storage / remote);
  fs::create_symlink(elsewhere / "b", place.storage / remote / "b");
  files.upload([](const std::string &path) { return path.ends_with("/b"); }, nullptr);
  assert_string_equal(read_file(elsewhere / "b").c_str(), "kept");
  assert_string_equal(read_file(place.storage / remote / "b").c_str(), "new");

  fs::create_directory_symlink(elsewhere.path(), place.storage / remote / "sub");
  write(files.path() / "sub/a", "12");
  expect_error(Code::access, [&] { files.upload(nullptr, nullptr); });
  assert_equal(files_in(elsewhere.path()), std::vector<std::string>{"b"});
}

void removal_follows_no_link_in_storage(void **) {
  const Place place;
  const TemporaryDirectory elsewhere;
  const auto storage =
      storage::make_storage_from_uri(place.storage.path().string(), std::make_shared<Logger>());
  remove_tensorboard_files(*storage, "c-1", 1);  // nothing is there
  const fs::path experiments = place.storage / "c-1/tensorboard/experiment";
  write(experiments / "1/a", "1");
  write(experiments / "10/a", "2");
  remove_tensorboard_files(*storage, "c-1", 1);
  assert_equal(files_in(experiments), std::vector<std::string>{"10/a"});

  fs::remove_all(experiments);
  write(elsewhere / "1/kept", "3");
  write(place.storage / "own/1/kept", "4");
  for (const fs::path &target : {elsewhere.path(), place.storage / "own"}) {
    fs::create_directory_symlink(target, experiments);
    expect_error(Code::access, [&] { remove_tensorboard_files(*storage, "c-1", 1); });
    assert_true(fs::exists(target / "1/kept"));
    fs::remove(experiments);
  }
}

void upload_in_automatic_mode_is_that_of_other_ranks(void **) {
  const Place place;
  TensorboardFiles others = place.files(TensorboardMode::automatic, 3);
  write(others.path() / "host.xplane.pb", "12");
  others.upload(nullptr, rank_aware_name);
  assert_string_equal(read_file(place.storage / remote / "host#3.xplane.pb").c_str(), "12");
  const auto message = expect_error(
      Code::state, [&] { place.files(TensorboardMode::automatic).upload(nullptr, nullptr); });
  assert_true(contains(message, "manual"));
}

void rank_goes_before_the_extension_of_a_profile(void **) {
  const std::pair<const char *, const char *> table[] = {
      {"w.pt.trace.json", "w#3.pt.trace.json"},
      {"w.pt.trace.json.gz", "w#3.pt.trace.json.gz"},
      {"w.12.pt.trace.json", "w#3.12.pt.trace.json"},
      {"h_1.5.12.pt.trace.json.gz", "h_1.5#3.12.pt.trace.json.gz"},
      {"12.pt.trace.json", "12#3.pt.trace.json"},
      {"d.1/12.pt.trace.json", "d.1/12#3.pt.trace.json"},
      {"h.input_pipeline.pb", "h#3.input_pipeline.pb"},
      {"h.memory_profile.json.gz", "h#3.memory_profile.json.gz"},
      {"h.tensorflow_stats.pb", "h#3.tensorflow_stats.pb"},
      {"h.xplane.pb", "h#3.xplane.pb"},
      {"h.kernel_stats.pb", "h#3.kernel_stats.pb"},
      {"h.overview_page.pb", "h#3.overview_page.pb"},
      {"plugins/h.trace.json.gz", "plugins/h#3.trace.json.gz"},
      {"h.trace.json", "h#3.trace.json"},
      {"x.some-extension.gz", "x.some-extension.gz"},
      {"events.out.tfevents.1700000000.h", "events.out.tfevents.1700000000.h"},
      {"", ""},
  };
  for (const auto &[name, expected] : table)
    assert_string_equal(rank_aware_name(name, 3).c_str(), expected);
}

}  // namespace

int test_files() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_made_before_it_is_asked_for),
      cmocka_unit_test(chief_writes_into_the_storage_in_automatic_mode),
      cmocka_unit_test(other_ranks_write_to_a_directory_of_their_own),
      cmocka_unit_test(manual_mode_writes_to_a_local_directory),
      cmocka_unit_test(local_directory_is_below_tmp_by_default),
      cmocka_unit_test(a_local_directory_that_is_a_link_is_refused),
      cmocka_unit_test(a_local_directory_of_another_user_is_refused),
      cmocka_unit_test(directories_in_storage_are_shared_as_it_is),
      cmocka_unit_test(ids_that_would_leave_the_storage_are_refused),
      cmocka_unit_test(without_a_trial_the_path_ends_at_the_experiment),
      cmocka_unit_test(upload_keeps_names_contents_and_permissions),
      cmocka_unit_test(without_memory_an_upload_is_done_another_time),
      cmocka_unit_test(second_upload_copies_only_what_changed),
      cmocka_unit_test(a_file_just_written_is_copied_again),
      cmocka_unit_test(a_rejected_file_is_asked_about_again_only_once_changed),
      cmocka_unit_test(a_failed_upload_is_tried_again),
      cmocka_unit_test(mangler_renames_in_storage),
      cmocka_unit_test(mangled_names_that_escape_are_refused),
      cmocka_unit_test(links_in_storage_are_not_followed),
      cmocka_unit_test(removal_follows_no_link_in_storage),
      cmocka_unit_test(upload_in_automatic_mode_is_that_of_other_ranks),
      cmocka_unit_test(rank_goes_before_the_extension_of_a_profile),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
