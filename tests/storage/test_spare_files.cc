// Copies in memory that are written over.
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include "core/storage/directory_storage.h"
#include "core/storage/spare_files.h"
#include "tests/storage/fixture.h"

namespace det::storage {

namespace {

constexpr size_t size = size_t{2} << 20;

// A storage in memory, whose copies are written over.
class Stage {
 public:
  Stage() {
    std::string name = "/dev/shm/det-spares-XXXXXX";
    struct statfs about {};
    if (mkdtemp(name.data()) == nullptr || statfs(name.c_str(), &about) != 0) return;
    is_in_memory_ = about.f_type == TMPFS_MAGIC;
    root_ = name;
    storage_.emplace(DirectoryStorage::Options{root_, {}, "base", false, false, spares},
                     std::make_shared<Logger>());
  }
  ~Stage() {
    if (!root_.empty()) fs::remove_all(root_);
  }

  bool can_be_tested() const { return is_in_memory_; }
  fs::path path(const std::string &id) const { return root_ / id; }

  void copy(const std::string &id, const fs::path &source) {
    const auto writer = storage_->begin(id);
    writer->copy(source, {});
    writer->commit();
    writer->announced();
    storage_->prepare_to_reuse(id);
  }
  void reuse(const std::string &id) { storage_->reuse(id); }
  void verify(const std::string &id) { storage_->restore(id, nullptr, true); }

  ino_t inode(const std::string &id, const std::string &name) const {
    struct stat about {};
    assert_int_equal(stat((path(id) / name).c_str(), &about), 0);
    return about.st_ino;
  }
  // Of all files here, also of those without a place in a checkpoint.
  uint64_t bytes() const {
    uint64_t all = 0;
    for (const auto &entry : fs::recursive_directory_iterator(root_))
      if (entry.is_regular_file()) all += entry.file_size();
    return all;
  }

  const std::shared_ptr<SpareFiles> spares = std::make_shared<SpareFiles>();

 private:
  bool is_in_memory_ = false;
  fs::path root_;
  std::optional<DirectoryStorage> storage_;
};

void a_copy_is_written_over_the_one_before(void **state) {
  const Fixture &at = fixture_of(state);
  Stage stage;
  if (!stage.can_be_tested()) skip();
  at.file("source/a", std::string(size, 'a'));
  at.file("source/sub/b", std::string(2 * size, 'b'));
  at.file("source/small", "s");
  stage.copy("one", at.root / "source");
  const ino_t first = stage.inode("one", "a"), second = stage.inode("one", "sub/b");
  // One that is longer than any that is there, one that is shorter.
  at.file("source/a", std::string(size - 5, 'c'));
  at.file("source/sub/b", std::string(2 * size + 5, 'd'));
  for (const std::string id : {"two", "three"}) {
    stage.reuse(id == "two" ? "one" : "two");
    stage.copy(id, at.root / "source");
    assert_int_equal(stage.inode(id, "a"), first);
    assert_int_equal(stage.inode(id, "sub/b"), second);
    assert_true(read_file(stage.path(id) / "a") == std::string(size - 5, 'c'));
    assert_true(read_file(stage.path(id) / "sub/b") == std::string(2 * size + 5, 'd'));
    stage.verify(id);
    assert_true(stage.bytes() < 3 * size + 4096);  // and a manifest
  }
}

void what_somebody_reads_is_not_written_over(void **state) {
  const Fixture &at = fixture_of(state);
  Stage stage;
  if (!stage.can_be_tested()) skip();
  at.file("source/open", std::string(size, 'a'));
  at.file("source/mapped", std::string(size, 'b'));
  stage.copy("one", at.root / "source");
  const Fd open(open_file(stage.path("one") / "open", O_RDONLY));
  const char *mapped = [&] {
    const Fd file(open_file(stage.path("one") / "mapped", O_RDONLY));
    return static_cast<const char *>(mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0));
  }();
  assert_ptr_not_equal(mapped, MAP_FAILED);
  stage.reuse("one");
  assert_true(stage.bytes() == 0);
  at.file("source/open", std::string(size, 'c'));
  at.file("source/mapped", std::string(size, 'c'));
  stage.copy("two", at.root / "source");
  std::string text(size, '\0');
  assert_int_equal(pread(open.get(), text.data(), size, 0), size);
  assert_true(text == std::string(size, 'a'));
  assert_true(std::string(mapped, size) == std::string(size, 'b'));
  munmap(const_cast<char *>(mapped), size);
}

void what_is_spare_is_limited_and_given_free(void **state) {
  const Fixture &at = fixture_of(state);
  Stage stage;
  if (!stage.can_be_tested()) skip();
  at.file("source/a", std::string(2 * size, 'a'));
  at.file("source/b", std::string(size, 'b'));
  stage.copy("one", at.root / "source");
  stage.reuse("one");
  assert_true(stage.bytes() == 3 * size);
  stage.spares->limit(3 * size - 5);
  assert_true(stage.bytes() == 3 * size - 5);
  // What it has too few, others lose.
  at.file("other/a", std::string(5 * size / 2, 'c'));
  stage.copy("two", at.root / "other");
  assert_true(stage.bytes() < 3 * size + 4096);
  stage.reuse("two");
  stage.spares->limit(0);
  assert_true(stage.bytes() == 0);
}

}  // namespace

}  // namespace det::storage

int test_spare_files() {
  using namespace det::storage;
  const CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_copy_is_written_over_the_one_before, make_fixture,
                                      drop_fixture),
      cmocka_unit_test_setup_teardown(what_somebody_reads_is_not_written_over, make_fixture,
                                      drop_fixture),
      cmocka_unit_test_setup_teardown(what_is_spare_is_limited_and_given_free, make_fixture,
                                      drop_fixture),
  };
  return cmocka_run_group_tests_name("spare_files", tests, nullptr, nullptr);
}
