// A storage in a bucket that is a folder, with files to store in it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "core/base/json.h"
#include "core/cloud/checkpoints/cloud_storage.h"
#include "tests/cloud/folder_store.h"
#include "tests/storage/fixture.h"
#include "tests/temporary_directory.h"

namespace det::cloud {

namespace fs = std::filesystem;
using storage::assert_throws;
using storage::Resources;

// Its root, files and log are those of the fixture of directories, whose storage is left alone.
struct BucketFixture : storage::Fixture {
  std::shared_ptr<FolderStore> store = std::make_shared<FolderStore>(root / "bucket");
  std::unique_ptr<CloudStorage> bucket = open();

  std::unique_ptr<CloudStorage> open(const std::string &machine = "machine") const {
    return std::make_unique<CloudStorage>(
        CloudOptions{store, "some/prefix", root / machine, Json{{"type", "s3"}}}, logger);
  }

  Resources save(const std::string &id, const fs::path &source) const {
    const auto writer = bucket->begin(id);
    writer->add(source, std::nullopt);
    Resources resources = writer->commit();
    writer->announced();
    return resources;
  }

  std::vector<std::string> keys() const { return store->keys(); }

  // Makes all that says whose it is that of a process of this machine which is gone.
  void kill_owners() const {
    for (const std::string &key : keys()) {
      std::string text = *read_object(*store, key);
      if (text.find("\"owner\"") == text.npos) continue;
      Json json = parse_json_object(text, key);
      json["owner"]["start_ticks"] = 1;
      write_object(*store, key, to_wire(json));
    }
  }

  // Local directories and locks of a machine.
  size_t left_on(const std::string &machine = "machine") const {
    size_t count = 0;
    for (const std::string &name : entry_names(root / machine)) {
      if (!name.starts_with(".detcore-")) ++count;
      else
        for (const std::string &lock : entry_names(root / machine / name))
          count += !lock.starts_with('.');
    }
    return count;
  }
};

// Runs `body` in a child whose store ends the process at the step-th call; whether it came to its
// end.
inline bool survives(FolderStore &store, int step, const std::function<void()> &body) {
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> left{step};
    store.before = [&](const std::string &, const std::string &) {
      if (left-- == 0) _exit(9);
    };
    try {
      body();
    } catch (const std::exception &error) {
      fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  if (WEXITSTATUS(status) != 9) assert_int_equal(WEXITSTATUS(status), 0);
  return WEXITSTATUS(status) == 0;
}

inline int make_bucket(void **state) {
  *state = new BucketFixture;
  return 0;
}

inline int drop_bucket(void **state) {
  delete static_cast<BucketFixture *>(*state);
  return 0;
}

inline BucketFixture &bucket_of(void **state) { return *static_cast<BucketFixture *>(*state); }

}  // namespace det::cloud

// A test with a fresh bucket.
#define BUCKET_TEST(name) \
  cmocka_unit_test_setup_teardown(name, det::cloud::make_bucket, det::cloud::drop_bucket)
