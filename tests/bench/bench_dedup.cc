// bench_dedup [DIRECTORY] [MiB] [rounds]: a model is saved, 2 % of it change, and it is saved
// again, in chunks; beside that, the save of whole files and the restore. What changes lies in runs
// of 1 MiB (parts of tensors) or 64 KiB at random places. Durable on both sides; medians.
//
// What a round has stored stays until the end: ext4 without a journal is slow for minutes to make
// files where many were removed.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/crypto/secure_hash.h"
#include "core/storage/chunks/chunker.h"
#include "core/storage/directory_storage.h"
#include "core/storage/tree.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"

namespace {

namespace fs = std::filesystem;
using namespace det::storage;
using bench::median;

// As weights are: floats near 0, whose low bits are noise.
std::vector<float> make_model(size_t bytes) {
  std::vector<float> model(bytes / sizeof(float));
  uint64_t random = 88172645463325252;
  for (float &value : model) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    value = (static_cast<float>(random >> 40) / static_cast<float>(1 << 24) - 0.5F) * 0.04F;
  }
  return model;
}

void write(const fs::path &path, const std::vector<float> &model) {
  det::write_all(det::open_file(path, O_WRONLY | O_CREAT | O_TRUNC).get(),
                 {reinterpret_cast<const char *>(model.data()), model.size() * sizeof(float)},
                 path);
  sync();
}

void change(std::vector<float> &model, size_t run, std::mt19937_64 &random) {
  const size_t length = run / sizeof(float);
  for (size_t left = model.size() / 50; left > 0;) {
    const size_t count = std::min(length, left);
    const size_t begin = random() % (model.size() - count);
    for (size_t i = begin; i < begin + count; ++i) model[i] = model[i] * 1.0001F + 1e-6F;
    left -= count;
  }
}

double seconds(const std::function<void()> &body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

uint64_t bytes_below(const fs::path &path) {
  uint64_t bytes = 0;
  for (const auto &entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file()) bytes += entry.file_size();
  return bytes;
}

void store(Storage &storage, const std::string &id, const fs::path &source) {
  const auto writer = storage.begin(id);
  writer->add(source, std::nullopt);
  writer->commit();
  writer->announced();
}

}  // namespace

int main(int argc, char **argv) try {
  const fs::path root = fs::path(argc > 1 ? argv[1] : fs::temp_directory_path().string()) /
                        ("bench-dedup-" + std::to_string(getpid()));
  const size_t size = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1024) << 20;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  fs::create_directories(root / "model");
  std::mt19937_64 random(1);
  std::vector<float> model = make_model(size);
  std::map<std::string, std::vector<double>> times, shares;
  const auto logger = std::make_shared<det::Logger>();
  for (int round = 0; round < rounds; ++round) {
    write(root / "model/weights", model);
    const fs::path place = root / std::to_string(round);
    const auto open = [&](bool deduplicate) {
      return std::make_unique<DirectoryStorage>(
          DirectoryStorage::Options{.base = place / (deduplicate ? "chunks" : "whole"),
                                    .config = {},
                                    .base_key = "host_path",
                                    .deduplicate = deduplicate},
          logger);
    };
    const auto whole = open(false), chunks = open(true), later = open(true);
    const auto save = [&](const std::string &what, Storage &storage, const std::string &id) {
      const fs::path base = storage.directory();
      const uint64_t before = fs::exists(base) ? bytes_below(base) : 0;
      sync();
      times[what].push_back(seconds([&] { store(storage, id, root / "model"); }));
      shares[what].push_back(static_cast<double>(bytes_below(base) - before) /
                             static_cast<double>(size));
    };
    const auto save_changed = [&](size_t run, const std::string &what, Storage &storage,
                                  const std::string &id) {
      change(model, run, random);
      write(root / "model/weights", model);
      save(what, storage, id);
    };
    const auto restore = [&](const std::string &what, Storage &storage) {
      times[what].push_back(seconds([&] { storage.download("one", root / "out", nullptr, true); }));
      remove_tree(root / "out");
    };
    times["names"].push_back(seconds([&] {
      const std::string_view all(reinterpret_cast<const char *>(model.data()), size);
      for (size_t at = 0; at < size; at += chunk_normal) det::sha256(all.substr(at, chunk_normal));
    }));
    save("whole", *whole, "one");
    save("first", *chunks, "one");
    save("unchanged", *chunks, "same");
    save_changed(1 << 20, "runs of 1 MiB", *chunks, "two");
    save_changed(64 << 10, "runs of 64 KiB", *chunks, "three");
    save_changed(1 << 20, "new process", *later, "four");
    restore("restore whole", *whole);
    restore("restore", *chunks);
  }
  const auto row = [&](const char *name, const char *what, double goal) {
    bench_row(name, median(times[what]), "save of whole files", median(times["whole"]), "s", goal);
  };
  row("first save in chunks", "first", 1.5);
  row("save in chunks, unchanged", "unchanged", 0);
  row("save in chunks, 2 % changed in runs of 1 MiB", "runs of 1 MiB", 0);
  row("save in chunks, 2 % changed in runs of 64 KiB", "runs of 64 KiB", 0);
  row("the first one, by a new process, 2 % changed", "new process", 0);
  bench_row("restore from chunks, verified", median(times["restore"]), "restore of whole files",
            median(times["restore whole"]), "s", 0);
  std::printf("%zu MiB; SHA-256 of them alone, by one thread: %.3f s\n", size >> 20,
              median(times["names"]));
  for (const auto &[what, of] : shares)
    std::printf("stored, %s: %.2f %%\n", what.c_str(), 100 * median(of));
  remove_tree(root);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
