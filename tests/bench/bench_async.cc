// bench_async [MIB [ROUNDS [DIRECTORY [STAGING]]]]: how long asynchronous saves of so many MiB hold
// training up, to DIRECTORY and staged in STAGING (/dev/shm), against memcpy of the same bytes by
// one thread into memory that was used before.
//
// The files, eight of one size, are in the page cache, as a program leaves them that has just
// written them. The calls take turns, and each save has ended and is deleted before the next turn.
// "upload_async" copies the files in the call, or clones them where the file system can do that; a
// staged one is written over the copy before it, and the first finds none. "commit_async" has
// nothing to copy, since the files were written where they belong.
#include <det/core.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"

namespace {

namespace fs = std::filesystem;
using bench::check;
using bench::die;
using bench::median;

constexpr double goal = 1.25;
constexpr size_t files = 8;
constexpr const char *metadata = R"({"steps_completed": 1})";

det_error err = DET_ERROR_INIT;

double seconds_of(const std::function<void()> &work) {
  const int64_t begin = bench::now_ns();
  work();
  return static_cast<double>(bench::now_ns() - begin) / 1e9;
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
  }
  ~Bench() {
    check(det_core_close(core_, DET_OUTCOME_OK, &err), err);
    det_core_free(core_);
  }

  double copy_memory() const {
    char *to = map(part_.size() * files);
    const auto copy = [&] {
      for (size_t i = 0; i < files; ++i)
        std::memcpy(to + i * part_.size(), part_.data(), part_.size());
    };
    copy();  // so that the memory is there
    const double taken = seconds_of(copy);
    munmap(to, part_.size() * files);
    return taken;
  }

  double upload_blocking() {
    char *id = nullptr;
    const double taken = seconds_of([&] {
      check(det_checkpoint_upload(checkpoint_, source_.c_str(), metadata, nullptr, &id, &err), err);
    });
    check(det_checkpoint_delete(checkpoint_, id, &err), err);
    det_free(id);
    return taken;
  }

  double upload() {
    det_checkpoint_ticket *ticket = nullptr;
    const double taken = seconds_of([&] {
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
    const double taken =
        seconds_of([&] { check(det_checkpoint_writer_commit_async(store, &ticket, &err), err); });
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
  const char *const staging = count > 4 ? arguments[4] : "/dev/shm";
  if (mkdtemp(directory.data()) == nullptr) die("making a directory");
  std::vector<double> copies, blocking, uploads, commits, staged;
  double first_staged = 0;
  {
    const size_t part = (mebibytes << 20) / files;
    fs::create_directories(fs::path(directory) / "plain");
    fs::create_directories(fs::path(directory) / "staged");
    Bench plain(fs::path(directory) / "plain", part, nullptr);
    Bench in_memory(fs::path(directory) / "staged", part, staging);
    first_staged = in_memory.upload();
    for (int round = 0; round < rounds; ++round) {
      copies.push_back(plain.copy_memory());
      blocking.push_back(plain.upload_blocking());
      uploads.push_back(plain.upload());
      commits.push_back(plain.commit());
      staged.push_back(in_memory.upload());
    }
  }
  fs::remove_all(directory);
  const double rival = median(copies);
  const auto row = [&](const char *name, double ours, double wanted) {
    bench_row(name, ours, "memcpy by one thread", rival, "s", wanted);
  };
  std::printf("%zu MiB, held up for:\n", mebibytes);
  row("upload_async, staged in memory, second and later", median(staged), goal);
  row("upload_async, staged in memory, the first", first_staged, 0);
  row("upload_async to a disk, into new pages of the cache", median(uploads), goal);
  row("upload that blocks until it is on the disk", median(blocking), 0);
  row("commit_async", median(commits), 0);
  return 0;
}
