// bench_async [MIB [ROUNDS [DIRECTORY [STAGING]]]]: how long asynchronous saves of so many MiB hold
// training up, against memcpy of the same bytes. With STAGING, as /dev/shm, they are staged there;
// the first save, which finds no memory to write over, is not measured then.
//
// The files, eight of one size, are in the page cache, as a program leaves them that has just
// written them. memcpy goes to memory that was mapped for it, as a copy of the weights would be,
// and also to memory that was used before; the calls take turns, and each save has ended before the
// next turn. "upload" copies the files in the call, or clones them where the file system can do
// that; "commit" has nothing to copy, since the files were written where they belong.
#include <det/core.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>

#include "tests/bench/measure.h"

namespace {

namespace fs = std::filesystem;
using bench::check;
using bench::die;

constexpr double budget = 1.25;      // of memcpy
constexpr double clone_budget = 50;  // ms, where the file system clones
constexpr size_t files = 8;
constexpr const char *metadata = R"({"steps_completed": 1})";

det_error err = DET_ERROR_INIT;

double milliseconds_of(const std::function<void()> &work) {
  const int64_t begin = bench::now_ns();
  work();
  return static_cast<double>(bench::now_ns() - begin) / 1e6;
}

void write_files(const fs::path &directory, const std::vector<char> &bytes) {
  for (size_t i = 0; i < files; ++i) {
    std::FILE *file = std::fopen((directory / ("part" + std::to_string(i))).c_str(), "w");
    if (file == nullptr || std::fwrite(bytes.data(), bytes.size(), 1, file) != 1 ||
        std::fclose(file) != 0)
      die("writing a file");
  }
}

char *map(size_t size) {
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("no memory");
  return static_cast<char *>(memory);
}

struct Series {
  const char *name;
  std::vector<double> times = {};
  double median() {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }
};

class Bench {
 public:
  Bench(const fs::path &directory, size_t part, const char *staging)
      : source_(directory / "source"), part_(part) {
    fs::create_directory(source_);
    std::mt19937_64 random;
    for (size_t at = 0; at < part; at += 8) {
      const uint64_t word = random();
      std::memcpy(part_.data() + at, &word, 8);
    }
    write_files(source_, part_);
    det_core_options options = DET_CORE_OPTIONS_INIT;
    options.master = directory.c_str();
    check(det_core_init(&options, &core_, &err), err);
    checkpoint_ = det_core_checkpoint(core_);
    if (staging == nullptr) return;
    det_staging_options stage = DET_STAGING_OPTIONS_INIT;
    stage.directory = staging;
    stage.limit_bytes = static_cast<int64_t>(part * files * 3 / 2);
    check(det_checkpoint_stage_saves(checkpoint_, &stage, &err), err);
    upload();  // what comes after is written over it
  }
  ~Bench() {
    check(det_core_close(core_, DET_OUTCOME_OK, &err), err);
    det_core_free(core_);
  }

  double copy_memory(bool used) const {
    char *to = map(part_.size() * files);
    const auto copy = [&] {
      for (size_t i = 0; i < files; ++i)
        std::memcpy(to + i * part_.size(), part_.data(), part_.size());
    };
    if (used) copy();
    const double taken = milliseconds_of(copy);
    munmap(to, part_.size() * files);
    return taken;
  }

  double upload_blocking() {
    char *id = nullptr;
    const double taken = milliseconds_of([&] {
      check(det_checkpoint_upload(checkpoint_, source_.c_str(), metadata, nullptr, &id, &err), err);
    });
    check(det_checkpoint_delete(checkpoint_, id, &err), err);
    det_free(id);
    return taken;
  }

  double upload() {
    det_checkpoint_ticket *ticket = nullptr;
    const double taken = milliseconds_of([&] {
      check(det_checkpoint_upload_async(checkpoint_, source_.c_str(), metadata, nullptr, &ticket,
                                        &err),
            err);
    });
    finish(ticket);
    return taken;
  }

  double commit() {
    det_checkpoint_writer *store = nullptr;
    det_checkpoint_ticket *ticket = nullptr;
    check(det_checkpoint_writer_begin(checkpoint_, metadata, nullptr, &store, &err), err);
    write_files(det_checkpoint_writer_path(store), part_);
    const double taken = milliseconds_of(
        [&] { check(det_checkpoint_writer_commit_async(store, &ticket, &err), err); });
    det_checkpoint_writer_free(store);
    finish(ticket);
    return taken;
  }

 private:
  void finish(det_checkpoint_ticket *ticket) {
    check(det_checkpoint_ticket_wait(ticket, DET_TIMEOUT_INFINITE, &err), err);
    check(det_checkpoint_delete(checkpoint_, det_checkpoint_ticket_id(ticket), &err), err);
    det_checkpoint_ticket_free(ticket);
  }

  const fs::path source_;
  std::vector<char> part_;
  det_core *core_ = nullptr;
  det_checkpoint_context *checkpoint_ = nullptr;
};

}  // namespace

int main(int count, char **arguments) {
  const size_t mebibytes = count > 1 ? std::strtoul(arguments[1], nullptr, 10) : 2048;
  const int rounds = count > 2 ? std::atoi(arguments[2]) : 5;
  std::string directory = (fs::path(count > 3 ? arguments[3] : "/tmp") / "bench-async-XXXXXX");
  if (mkdtemp(directory.data()) == nullptr) die("making a directory");
  Series fresh{"memcpy, new memory"}, used{"memcpy, used memory"}, blocking{"upload that blocks"},
      upload{"upload_async"}, commit{"store_commit_async"};
  {
    Bench bench(directory, (mebibytes << 20) / files, count > 4 ? arguments[4] : nullptr);
    for (int round = 0; round < rounds; ++round) {
      fresh.times.push_back(bench.copy_memory(false));
      used.times.push_back(bench.copy_memory(true));
      blocking.times.push_back(bench.upload_blocking());
      upload.times.push_back(bench.upload());
      commit.times.push_back(bench.commit());
    }
  }
  fs::remove_all(directory);
  std::printf("%zu MiB, medians of %d, held up for:\n", mebibytes, rounds);
  for (Series *series : {&fresh, &used, &blocking, &upload, &commit}) {
    const double median = series->median();
    std::printf("  %-20s %9.1f ms  (%.1f to %.1f)\n", series->name, median, series->times.front(),
                series->times.back());
  }
  const double ratio = upload.median() / fresh.median();
  std::printf("upload_async is %.2f of memcpy to new memory, budget %.2f: %s\n", ratio, budget,
              ratio <= budget || upload.median() <= clone_budget ? "met" : "MISSED");
  std::printf("upload_async is %.2f of memcpy to used memory\n", upload.median() / used.median());
  const double commit_ratio = commit.median() / fresh.median();
  std::printf("store_commit_async is %.4f of memcpy to new memory, budget %.2f: %s\n", commit_ratio,
              budget, commit_ratio <= budget ? "met" : "MISSED");
  return 0;
}
