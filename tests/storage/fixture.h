// What the storage tests share: a temporary directory, a storage in it, and small file helpers.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/log/log.h"
#include "core/storage/storage.h"
#include "core/storage/tree.h"
#include "tests/cmocka.h"

namespace det::storage {

namespace fs = std::filesystem;

struct Fixture {
  fs::path root;
  fs::path base;  // of the storage, not made yet
  std::string log;
  std::shared_ptr<Logger> logger;
  std::unique_ptr<Storage> storage;

  explicit Fixture(bool directory_type = false) {
    std::string name = (fs::temp_directory_path() / "det-storage-XXXXXX").string();
    assert_non_null(mkdtemp(name.data()));
    root = name;
    base = root / "base";
    logger = std::make_shared<Logger>(
        LogLevel::debug, [this](LogLevel, const std::string &line) { log += line + "\n"; });
    const Json config = directory_type
                            ? Json{{"type", "directory"}, {"container_path", base.string()}}
                            : Json{{"type", "shared_fs"}, {"host_path", base.string()}};
    storage = make_storage(config, std::nullopt, logger);
  }

  ~Fixture() { remove_tree(root); }

  fs::path file(const std::string &name, const std::string &text = "text") const {
    const fs::path path = root / name;
    fs::create_directories(path.parent_path());
    write_all(open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(), text, name);
    return path;
  }

  fs::path directory(const std::string &name) const {
    fs::create_directories(root / name);
    return root / name;
  }

  // Stores the directory under `id`, announced.
  Resources store(const std::string &id, const fs::path &source) const {
    const auto writer = storage->begin(id);
    writer->add(source, std::nullopt);
    Resources resources = writer->commit();
    writer->announced();
    return resources;
  }

  // root.txt, subdir/file1.txt, subdir/file2.txt, empty_dir/
  fs::path sample() const {
    file("sample/root.txt", "root file");
    file("sample/subdir/file1.txt", "nested file 1");
    file("sample/subdir/file2.txt", "nested file 2");
    directory("sample/empty_dir");
    return root / "sample";
  }

  // Locks have hidden names while they are made and taken over.
  static bool is_unfinished(const std::string &name) {
    return !name.starts_with('.') || name.starts_with(".removed");
  }

  size_t names_in_partial() const {
    size_t count = 0;
    if (fs::exists(base / ".partial"))
      for (auto at = fs::directory_iterator(base / ".partial"); at != fs::directory_iterator();
           ++at)
        count += is_unfinished(at->path().filename());
    return count;
  }
};

template <class F>
void assert_throws(Code code, const std::string &fragment, F &&f) {
  std::string problem = "nothing was thrown";
  try {
    f();
  } catch (const Error &error) {
    if (error.code == code && std::string(error.what()).find(fragment) != std::string::npos) return;
    problem = "code " + std::to_string(static_cast<int>(error.code)) + ": " + error.what();
  }
  fail_msg("expected code %d with '%s', but %s", static_cast<int>(code), fragment.c_str(),
           problem.c_str());
}

inline int make_fixture(void **state) {
  *state = new Fixture;
  return 0;
}

inline int drop_fixture(void **state) {
  delete static_cast<Fixture *>(*state);
  return 0;
}

inline Fixture &fixture_of(void **state) { return *static_cast<Fixture *>(*state); }

}  // namespace det::storage

// A test with a fresh fixture.
#define STORAGE_TEST(name) \
  cmocka_unit_test_setup_teardown(name, det::storage::make_fixture, det::storage::drop_fixture)
