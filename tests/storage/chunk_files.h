// What the tests of deduplicated checkpoints share: files that are large enough to be cut, and a
// look at the chunks of a storage.
#pragma once

#include <random>
#include <set>
#include <string>

#include "core/storage/chunks/chunk_list.h"
#include "core/storage/chunks/directory_chunks.h"
#include "tests/storage/fixture.h"

namespace det::storage {

inline std::string random_bytes(size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char &byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

inline Json deduplicated_config(const fs::path &base) {
  return {{"type", "shared_fs"}, {"host_path", base.string()}, {"deduplicate", true}};
}

// All that is stored in chunks, by name.
inline std::set<std::string> stored_chunks(const fs::path &base) {
  std::set<std::string> names;
  if (!fs::exists(base / ".chunks")) return names;
  for (const auto &entry : fs::recursive_directory_iterator(base / ".chunks"))
    if (entry.is_regular_file() && chunk_name_from(entry.path().filename().string()))
      names.insert(entry.path().filename().string());
  return names;
}

// What the lists of visible checkpoints name.
inline std::set<std::string> named_chunks(const fs::path &base) {
  std::set<std::string> names;
  for (const auto &entry : fs::directory_iterator(base))
    if (entry.path().filename().string()[0] != '.')
      if (const auto files = read_chunk_list(Tree(entry.path())))
        for (const auto &[path, file] : *files)
          for (const Chunk &chunk : file.chunks) names.insert(to_text(chunk.name));
  return names;
}

inline uint64_t bytes_in_chunks(const fs::path &base) {
  uint64_t bytes = 0;
  for (const auto &entry : fs::recursive_directory_iterator(base / ".chunks"))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

struct DeduplicatedFixture : Fixture {
  DeduplicatedFixture() { storage = make_storage(deduplicated_config(base), std::nullopt, logger); }

  // model.bin (3 MiB), sub/other.bin (200 KiB), small.txt
  fs::path model(unsigned seed = 1) const {
    file("model/model.bin", random_bytes(3 << 20, seed));
    file("model/sub/other.bin", random_bytes(200 << 10, seed + 1));
    file("model/small.txt", "small");
    return root / "model";
  }

  std::string restored(const std::string &id, const std::string &path) const {
    return read_file(storage->restore(id, nullptr, true)->path() / path);
  }
};

inline int make_deduplicated(void **state) {
  *state = new DeduplicatedFixture;
  return 0;
}

inline int drop_deduplicated(void **state) {
  delete static_cast<DeduplicatedFixture *>(*state);
  return 0;
}

inline DeduplicatedFixture &deduplicated(void **state) {
  return *static_cast<DeduplicatedFixture *>(*state);
}

}  // namespace det::storage

#define CHUNK_TEST(name)                                                 \
  cmocka_unit_test_setup_teardown(name, det::storage::make_deduplicated, \
                                  det::storage::drop_deduplicated)
