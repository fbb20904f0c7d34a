// What copying makes of links, special files, modes, odd names, and files that change meanwhile.
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <functional>

#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "tests/storage/fixture.h"

namespace {
std::function<void()> before_next_read;  // runs once
}

extern "C" ssize_t __real_pread64(int fd, void *data, size_t size, off_t offset);
extern "C" ssize_t __wrap_pread64(int fd, void *data, size_t size, off_t offset) {
  if (before_next_read) std::exchange(before_next_read, nullptr)();
  return __real_pread64(fd, data, size, offset);
}

namespace det::storage {

namespace {

struct stat about(const fs::path &path) {
  struct stat found {};
  assert_int_equal(lstat(path.c_str(), &found), 0);
  return found;
}

void set_time(const fs::path &path, time_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 123456789}};
  assert_int_equal(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

void write_text(const fs::path &path, const std::string &text) {
  write_all(open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(), text, path.string());
}

void modes_and_times_are_kept(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path source = at.sample();
  fs::permissions(source / "root.txt", fs::perms(0751));
  fs::permissions(source / "subdir/file1.txt", fs::perms(0444));
  fs::permissions(source / "subdir", fs::perms(0750));
  fs::permissions(source / "empty_dir", fs::perms(0555));
  for (const char *path : {"root.txt", "subdir/file1.txt", "subdir", "empty_dir"})
    set_time(source / path, 1'000'000'000);
  at.store("one", source);
  at.storage->download("one", at.root / "target", nullptr, true);
  for (const fs::path &copy : {at.base / "one", at.root / "target"})
    for (const char *path : {"root.txt", "subdir/file1.txt", "subdir", "empty_dir"}) {
      assert_int_equal(about(copy / path).st_mode, about(source / path).st_mode);
      assert_int_equal(about(copy / path).st_mtim.tv_sec, 1'000'000'000);
      assert_int_equal(about(copy / path).st_mtim.tv_nsec, 123456789);
    }
}

void links_become_what_they_name(void **state) {
  Fixture &at = fixture_of(state);
  at.file("elsewhere/deep/inner", "inner");
  at.file("d/real", "real");
  fs::create_symlink(at.root / "elsewhere", at.root / "d/lnk");
  fs::create_symlink(at.root / "elsewhere/deep/inner", at.root / "d/file_lnk");
  at.store("one", at.root / "d");
  assert_true(S_ISDIR(about(at.base / "one/lnk").st_mode));
  assert_true(S_ISREG(about(at.base / "one/file_lnk").st_mode));
  assert_string_equal(read_file(at.base / "one/lnk/deep/inner").c_str(), "inner");
  assert_string_equal(read_file(at.base / "one/file_lnk").c_str(), "inner");
}

void linked_directory_named_in_paths_is_empty(void **state) {
  Fixture &at = fixture_of(state);
  at.file("elsewhere/inner");
  fs::create_symlink(at.root / "elsewhere", at.directory("d") / "lnk");
  const auto writer = at.storage->begin("one");
  writer->add(at.root / "d", {{"lnk/"}});
  const Resources expected{{"lnk/", 0}};
  assert_equal(writer->commit(), expected);
}

void link_to_a_directory_above_is_refused(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_symlink("..", at.directory("d/sub") / "up");
  assert_throws(Code::invalid, "sub/up", [&] { at.store("one", at.root / "d"); });
}

void two_links_to_one_directory_are_fine(void **state) {
  Fixture &at = fixture_of(state);
  at.file("d/real/f");
  fs::create_symlink("real", at.root / "d/a");
  fs::create_symlink("real", at.root / "d/b");
  assert_int_equal(at.store("one", at.root / "d").size(), 6);
}

void dangling_link_is_not_found(void **state) {
  Fixture &at = fixture_of(state);
  fs::create_symlink("nowhere", at.directory("d") / "dangling");
  assert_throws(Code::not_found, "dangling", [&] { at.store("one", at.root / "d"); });
  assert_false(fs::exists(at.base / "one"));
}

void special_files_are_refused_by_name(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path source = at.sample();
  assert_int_equal(mkfifo((source / "pipe").c_str(), 0600), 0);
  assert_throws(Code::invalid, "pipe", [&] { at.store("one", source); });
  {
    const auto writer = at.storage->begin("rest");
    writer->add(source, {{"root.txt"}});  // the pipe is not asked for
    writer->commit();
  }
  fs::rename(source / "pipe", at.root / "pipe");
  fs::create_symlink(at.root / "pipe", source / "to_pipe");
  assert_throws(Code::invalid, "to_pipe", [&] { at.store("one", source); });
  fs::remove(source / "to_pipe");
  const Fd socket_fd(socket(AF_UNIX, SOCK_STREAM, 0));
  sockaddr_un address{AF_UNIX, {}};
  (source / "sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
  assert_int_equal(bind(socket_fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address),
                   0);
  assert_throws(Code::invalid, "sock", [&] { at.store("one", source); });
}

void special_file_in_the_checkpoint_stops_the_commit(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  assert_int_equal(mkfifo((writer->path() / "pipe").c_str(), 0600), 0);
  assert_throws(Code::invalid, "pipe", [&] { writer->commit(); });
  assert_false(fs::exists(at.base / "one"));
  assert_int_equal(at.names_in_partial(), 0);
}

void odd_names_come_back(void **state) {
  Fixture &at = fixture_of(state);
  for (const char *name :
       {"\xff\xfe", "line\nbreak", "100%", "%41", "quote\"\\", "\xc3\xa9t\xc3\xa9", "\xed\xa0\x80",
        "\xc0\xaf", "\xf4\x90\x80\x80", " ", "-rf"})
    at.file(std::string("d/") + name, name);
  const Resources stored = at.store("one", at.root / "d");
  assert_equal(stored, list_directory(at.root / "d"));
  at.storage->restore("one", nullptr, true);
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_equal(list_directory(at.root / "target"), stored);
}

void file_that_grows_while_copied_is_a_conflict(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path file = at.file("d/growing");
  before_next_read = [&] { write_text(file, "longer than before"); };
  assert_throws(Code::conflict, "growing", [&] { at.store("one", at.root / "d"); });
  assert_false(fs::exists(at.base / "one"));
}

void file_that_shrinks_while_copied_is_a_conflict(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path file = at.file("d/shrinking");
  before_next_read = [&] { write_text(file, ""); };
  assert_throws(Code::conflict, "shrinking", [&] { at.store("one", at.root / "d"); });
}

void file_rewritten_while_copied_is_a_conflict(void **state) {
  Fixture &at = fixture_of(state);
  const fs::path file = at.file("d/rewritten", "text");
  set_time(file, 1'000'000'000);
  before_next_read = [&] { write_text(file, "TEXT"); };
  assert_throws(Code::conflict, "rewritten", [&] { at.store("one", at.root / "d"); });
}

void file_written_during_the_commit_is_a_conflict(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  write_text(writer->path() / "late", "text");
  set_time(writer->path() / "late", 1'000'000'000);
  before_next_read = [&] { write_text(writer->path() / "late", "TEXT"); };
  assert_throws(Code::conflict, "late", [&] { writer->commit(); });
  assert_false(fs::exists(at.base / "one"));
}

void file_changed_between_add_and_commit_is_hashed_anew(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  writer->add(at.sample(), std::nullopt);
  write_text(writer->path() / "root.txt", "ROOT FILE");
  writer->commit();
  at.storage->restore("one", nullptr, true);
}

void directory_that_holds_the_storage_is_refused(void **state) {
  Fixture &at = fixture_of(state);
  assert_throws(Code::invalid, "contain itself", [&] { at.store("one", at.root); });
}

void reserved_name_is_refused_in_a_checkpoint_and_left_out_of_a_source(void **state) {
  Fixture &at = fixture_of(state);
  {
    const auto writer = at.storage->begin("one");
    write_text(writer->path() / manifest_name, "mine");
    assert_throws(Code::invalid, "reserved", [&] { writer->commit(); });
  }
  at.store("one", at.sample());
  const auto reader = at.storage->restore("one", nullptr, true);
  at.store("copy", reader->path());
  at.storage->restore("copy", nullptr, true);
}

void link_within_a_checkpoint_is_kept_and_downloaded_as_content(void **state) {
  Fixture &at = fixture_of(state);
  const auto writer = at.storage->begin("one");
  fs::create_directory(writer->path() / "epoch-1");
  write_text(writer->path() / "epoch-1/model", "weights");
  fs::create_symlink("epoch-1", writer->path() / "latest");
  fs::create_symlink("latest/model", writer->path() / "model");
  const Resources expected{{"epoch-1/", 0}, {"epoch-1/model", 7}, {"latest/", 0}, {"model", 7}};
  assert_equal(writer->commit(), expected);
  writer->announced();
  at.storage->restore("one", nullptr, true);
  at.storage->download("one", at.root / "target", nullptr, true);
  assert_string_equal(read_file(at.root / "target/latest/model").c_str(), "weights");
  assert_true(S_ISREG(about(at.root / "target/model").st_mode));
}

void link_out_of_a_checkpoint_stops_the_commit(void **state) {
  Fixture &at = fixture_of(state);
  at.file("secret");
  for (const fs::path &target : {at.root / "secret", fs::path("../../../secret")}) {
    const auto writer = at.storage->begin("one");
    fs::create_symlink(target, writer->path() / "lnk");
    assert_throws(Code::invalid, "lnk", [&] { writer->commit(); });
  }
}

void large_file_is_copied_in_pieces(void **state) {
  Fixture &at = fixture_of(state);
  constexpr off_t size = (off_t{130} << 20) + 7;
  const fs::path file = at.file("d/large", "head");
  {
    const Fd fd = open_file(file, O_WRONLY);
    assert_int_equal(ftruncate(fd.get(), size), 0);
    for (off_t mark = 1000; mark < size; mark += 10'000'019)
      assert_int_equal(pwrite(fd.get(), "mark", 4, mark), 4);
  }
  assert_int_equal(at.store("one", at.root / "d").at("large"), size);
  at.storage->restore("one", nullptr, true);
  at.storage->download("one", at.root / "target", nullptr, true);
  at.storage->download("one", at.root / "unchecked", nullptr, false);
  const std::string expected = read_file(file);
  assert_equal(read_file(at.base / "one/large"), expected);
  assert_equal(read_file(at.root / "target/large"), expected);
  assert_equal(read_file(at.root / "unchecked/large"), expected);
  for (const char *copy : {"base/one/large", "target/large", "unchecked/large"})
    assert_true(about(at.root / copy).st_blocks * 512 < size / 10);
  const Fd fd = open_file(at.base / "one/large", O_WRONLY);
  assert_int_equal(pwrite(fd.get(), "!", 1, off_t{100} << 20), 1);
  assert_throws(Code::corrupt, "large", [&] { at.storage->restore("one", nullptr, true); });
}

void many_files_are_copied_by_several_threads(void **state) {
  Fixture &at = fixture_of(state);
  for (int i = 0; i < 700; ++i)
    at.file("d/" + std::to_string(i % 7) + "/" + std::to_string(i), std::to_string(i));
  const Resources stored = at.store("one", at.root / "d");
  assert_int_equal(stored.size(), 707);
  at.storage->download("one", at.root / "target", nullptr, true);
  for (int i = 0; i < 700; ++i) {
    const std::string path = std::to_string(i % 7) + "/" + std::to_string(i);
    assert_string_equal(read_file(at.root / "target" / path).c_str(), std::to_string(i).c_str());
  }
}

// Permissions do not bind root: such tests go on as nobody.
class AsNobody {
 public:
  explicit AsNobody(const Fixture &at) {
    if (geteuid() != 0) return;
    assert_int_equal(chmod(at.root.c_str(), 0777), 0);
    assert_int_equal(seteuid(65534), 0);
    switched_ = true;
  }
  ~AsNobody() {
    if (switched_) assert_int_equal(seteuid(0), 0);
  }

 private:
  bool switched_ = false;
};

void unreadable_files_and_directories_are_named(void **state) {
  Fixture &at = fixture_of(state);
  const AsNobody nobody(at);
  const fs::path source = at.sample();
  fs::permissions(source / "subdir/file1.txt", fs::perms::none);
  assert_throws(Code::access, "file1.txt", [&] { at.store("one", source); });
  fs::permissions(source / "subdir", fs::perms::none);
  assert_throws(Code::access, "subdir", [&] { at.store("one", source); });
  assert_throws(Code::access, "subdir", [&] { list_directory(source); });
  fs::permissions(source / "subdir", fs::perms::owner_all);
}

void base_that_may_not_be_written_is_named(void **state) {
  Fixture &at = fixture_of(state);
  const AsNobody nobody(at);
  fs::create_directory(at.base);
  fs::permissions(at.base, fs::perms(0555));
  assert_throws(Code::access, "base", [&] { at.storage->begin("one"); });
}

void read_only_directories_can_be_stored_and_removed(void **state) {
  Fixture &at = fixture_of(state);
  const AsNobody nobody(at);
  const fs::path source = at.sample();
  fs::permissions(source / "subdir", fs::perms(0555));
  fs::permissions(source, fs::perms(0555));
  at.store("one", source);
  at.storage->restore("one", nullptr, true);
  assert_int_equal(about(at.base / "one/subdir").st_mode & 0777, 0555);
  at.storage->remove("one");
  assert_false(fs::exists(at.base / "one"));
  assert_int_equal(at.names_in_partial(), 0);
}

// Of a file whose sum the writer was told; `read` tells whether the commit read it.
Manifest manifest_of_known(const Fixture &at, const std::string &id, bool changed, bool &read) {
  const auto writer = at.storage->begin(id);
  write_text(writer->path() / "file", "text");
  writer->know({"file", FileStamp::of(about(writer->path() / "file")), 42});
  if (changed) set_time(writer->path() / "file", 1'000'000'000);
  read = false;
  before_next_read = [&read] { read = true; };
  writer->commit();
  before_next_read = nullptr;
  writer->announced();
  return *read_manifest(Tree(at.base / id));
}

void what_is_known_of_a_file_saves_reading_it(void **state) {
  Fixture &at = fixture_of(state);
  bool read = true;
  assert_int_equal(manifest_of_known(at, "known", false, read).at("file").checksum, 42);
  assert_false(read);
  const uint64_t sum = checksums_of(at.base / "known", {"file"}).at("file");
  assert_int_equal(manifest_of_known(at, "changed", true, read).at("file").checksum, sum);
  assert_true(read);
}

}  // namespace

}  // namespace det::storage

int main() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      STORAGE_TEST(modes_and_times_are_kept),
      STORAGE_TEST(links_become_what_they_name),
      STORAGE_TEST(linked_directory_named_in_paths_is_empty),
      STORAGE_TEST(link_to_a_directory_above_is_refused),
      STORAGE_TEST(two_links_to_one_directory_are_fine),
      STORAGE_TEST(dangling_link_is_not_found),
      STORAGE_TEST(special_files_are_refused_by_name),
      STORAGE_TEST(special_file_in_the_checkpoint_stops_the_commit),
      STORAGE_TEST(odd_names_come_back),
      STORAGE_TEST(file_that_grows_while_copied_is_a_conflict),
      STORAGE_TEST(file_that_shrinks_while_copied_is_a_conflict),
      STORAGE_TEST(file_rewritten_while_copied_is_a_conflict),
      STORAGE_TEST(file_written_during_the_commit_is_a_conflict),
      STORAGE_TEST(file_changed_between_add_and_commit_is_hashed_anew),
      STORAGE_TEST(directory_that_holds_the_storage_is_refused),
      STORAGE_TEST(reserved_name_is_refused_in_a_checkpoint_and_left_out_of_a_source),
      STORAGE_TEST(link_within_a_checkpoint_is_kept_and_downloaded_as_content),
      STORAGE_TEST(link_out_of_a_checkpoint_stops_the_commit),
      STORAGE_TEST(large_file_is_copied_in_pieces),
      STORAGE_TEST(many_files_are_copied_by_several_threads),
      STORAGE_TEST(unreadable_files_and_directories_are_named),
      STORAGE_TEST(base_that_may_not_be_written_is_named),
      STORAGE_TEST(read_only_directories_can_be_stored_and_removed),
      STORAGE_TEST(what_is_known_of_a_file_saves_reading_it),
  };
  return cmocka_run_group_tests_name("storage copying", tests, nullptr, nullptr);
}
