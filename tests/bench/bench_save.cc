// A small checkpoint, with its manifest and its record in the store, against the least that a
// careful program does for a file: write, sync, rename, and sync the directory.
#include <det/core.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/temporary_directory.h"

namespace {

using bench::check;

constexpr int rounds = 41;
constexpr size_t size = size_t{1} << 20U;

double seconds_since(int64_t begin) { return static_cast<double>(bench::now_ns() - begin) / 1e9; }

void write_file(const std::string &path, const std::string &bytes, bool sync) {
  const det::Fd file = det::open_file(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
  det::write_all(file.get(), bytes, path);
  if (sync && fsync(file.get()) != 0) bench::die("fsync");
}

void save(det_core *core, int step, const std::string &bytes) {
  det_error err = DET_ERROR_INIT;
  det_checkpoint_writer *writer = nullptr;
  const std::string metadata = R"({"steps_completed":)" + std::to_string(step) + "}";
  check(det_checkpoint_writer_begin(det_core_checkpoint(core), metadata.c_str(), nullptr, &writer,
                                    &err),
        err);
  write_file(std::string(det_checkpoint_writer_path(writer)) + "/model.bin", bytes, false);
  check(det_checkpoint_writer_commit(writer, &err), err);
  det_checkpoint_writer_free(writer);
}

void save_plainly(const std::string &directory, int step, const std::string &bytes) {
  const std::string path = directory + "/model-" + std::to_string(step);
  write_file(path + ".new", bytes, true);
  std::filesystem::rename(path + ".new", path);
  det::sync_directory(directory);
}

}  // namespace

int main() {
  const det::TemporaryDirectory directory;
  const std::string home = directory.path().string(), plain = (directory / "plain").string();
  std::filesystem::create_directory(plain);
  det_error err = DET_ERROR_INIT;
  det_core_options options = DET_CORE_OPTIONS_INIT;
  options.master = home.c_str();
  det_core *core = nullptr;
  check(det_core_init(&options, &core, &err), err);
  std::vector<double> ours, theirs;
  for (int round = 1; round <= rounds; ++round) {
    const std::string bytes(size, static_cast<char>(round));
    int64_t begin = bench::now_ns();
    save(core, round, bytes);
    ours.push_back(seconds_since(begin));
    usleep(20'000);  // an earlier checkpoint is deleted in the background
    begin = bench::now_ns();
    save_plainly(plain, round, bytes);
    theirs.push_back(seconds_since(begin));
  }
  bench_row("a checkpoint of 1 MiB", bench::median(ours), "write, fsync, rename, fsync",
            bench::median(theirs), "s", 0);
  check(det_core_close(core, DET_OUTCOME_OK, &err), err);
  det_core_free(core);
  return 0;
}
