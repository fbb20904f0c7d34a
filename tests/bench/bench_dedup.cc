// bench_dedup [DIRECTORY] [MiB] [rounds]: a model is saved, 2 % of it change, and it is saved
// again, in chunks; beside that, the save of whole files and the restore. What changes lies in runs
// of 1 MiB (parts of tensors) or 64 KiB at random places. Durable, by the clock and in bytes;
// medians.
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

#include "core/storage/directory_storage.h"
#include "core/storage/tree.h"

namespace {

namespace fs = std::filesystem;
using namespace det::storage;

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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char **argv) try {
  const fs::path root = fs::path(argc > 1 ? argv[1] : fs::temp_directory_path().string()) /
                        ("bench-dedup-" + std::to_string(getpid()));
  const size_t size = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2048) << 20;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  fs::create_directories(root / "model");
  std::mt19937_64 random(1);
  std::vector<float> model = make_model(size);
  std::map<std::string, std::vector<double>> times, shares;
  for (int round = 0; round < rounds; ++round) {
    write(root / "model/weights", model);
    const auto logger = std::make_shared<det::Logger>();
    DirectoryStorage whole({.base = root / "whole", .config = {}, .base_key = "host_path"}, logger);
    DirectoryStorage chunks(
        {.base = root / "chunks", .config = {}, .base_key = "host_path", .deduplicate = true},
        logger);
    const auto save = [&](const std::string &what, Storage &storage, const std::string &id) {
      const fs::path base = storage.directory();
      const uint64_t before = fs::exists(base) ? bytes_below(base) : 0;
      times[what].push_back(seconds([&] { store(storage, id, root / "model"); }));
      shares[what].push_back(static_cast<double>(bytes_below(base) - before) /
                             static_cast<double>(size));
    };
    save("1 whole files", whole, "one");
    save("2 chunks, first", chunks, "one");
    save("3 chunks, unchanged", chunks, "same");
    change(model, 1 << 20, random);
    write(root / "model/weights", model);
    save("4 chunks, 2 % changed in runs of 1 MiB", chunks, "two");
    change(model, 64 << 10, random);
    write(root / "model/weights", model);
    save("5 chunks, 2 % changed in runs of 64 KiB", chunks, "three");
    DirectoryStorage later(
        {.base = root / "chunks", .config = {}, .base_key = "host_path", .deduplicate = true},
        logger);
    change(model, 1 << 20, random);
    write(root / "model/weights", model);
    save("6 chunks, 2 % in runs of 1 MiB, by a process that remembers nothing", later, "four");
    times["7 restored whole, verified"].push_back(
        seconds([&] { whole.download("one", root / "out", nullptr, true); }));
    remove_tree(root / "out");
    times["8 restored from chunks, verified"].push_back(
        seconds([&] { chunks.download("two", root / "out", nullptr, true); }));
    for (const char *directory : {"out", "whole", "chunks"}) remove_tree(root / directory);
    sync();
  }
  const double first = median(times["2 chunks, first"]);
  for (const auto &[what, of] : times) {
    std::printf("%-72s %7.3f s  %5.1f %% of the first", what.c_str(), median(of),
                100 * median(of) / first);
    if (shares.contains(what)) std::printf("  %6.2f %% stored", 100 * median(shares[what]));
    std::printf("\n");
  }
  remove_tree(root);
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
