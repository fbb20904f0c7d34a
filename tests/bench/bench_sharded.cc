// bench_sharded [MIB [ROUNDS [DIRECTORY]]]: a sharded upload of 4 ranks, each with one file of so
// many MiB, against 4 cp at once of the same files to the same disk.
//
// The files are in the page cache; the tools take turns. "cached" is the time until a tool is done,
// ours without syncing; "durable" the time until everything is on disk: cp and then sync(1), and
// what the upload does by itself. Ours always computes checksums.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/row.h"
#include "tests/context/job.h"

namespace {

namespace fs = std::filesystem;
using det::test::Job;

constexpr int ranks = 4;
constexpr double goal = 1.1;

[[noreturn]] void die(const std::string &what) {
  std::fprintf(stderr, "bench_sharded: %s\n", what.c_str());
  std::exit(1);
}

void run(const std::string &command) {
  if (std::system(command.c_str()) != 0) die("failed: " + command);
}

std::string source(const Job &job, int rank) {
  return job.path("source" + std::to_string(rank)).string();
}

void make_sources(const Job &job, size_t mebibytes) {
  std::vector<uint64_t> chunk((size_t{1} << 20) / sizeof(uint64_t));
  std::mt19937_64 random;
  for (int rank = 0; rank < ranks; ++rank) {
    fs::create_directory(source(job, rank));
    std::FILE *file =
        std::fopen((source(job, rank) + "/shard" + std::to_string(rank)).c_str(), "w");
    if (file == nullptr) die("making a file");
    for (size_t i = 0; i < mebibytes; ++i) {
      std::ranges::generate(chunk, std::ref(random));
      if (std::fwrite(chunk.data(), 1 << 20, 1, file) != 1) die("writing a file");
    }
    if (std::fclose(file) != 0) die("writing a file");
  }
  run("sync");
}

std::string copy_command(const Job &job, bool durable) {
  std::string command = "mkdir " + job.path("copy").string();
  for (int rank = 0; rank < ranks; ++rank)
    command += (rank == 0 ? "; " : "& ") + ("cp " + source(job, rank)) + "/* " +
               job.path("copy").string() + " ";
  return command + "& wait" + (durable ? "; sync -f " + job.path("copy").string() : "");
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double copy(const Job &job, bool durable) {
  const auto begin = std::chrono::steady_clock::now();
  run(copy_command(job, durable));
  return seconds_since(begin);
}

// As the chief sees it, in a job that has been joined before.
double upload(Job &job, bool durable) {
  job.durable = durable;
  double taken = 0;
  for (const std::exception_ptr &thrown : job.run([&](det::test::Rank &rank) {
         const auto begin = std::chrono::steady_clock::now();
         rank.checkpoints.saver().upload(source(job, rank.number), R"({"steps_completed": 1})",
                                         true, nullptr);
         if (rank.number == 0) taken = seconds_since(begin);
       }))
    if (thrown) die(det::test::text_of(thrown));
  return taken;
}

void clean(const Job &job) {
  fs::remove_all(job.base());
  fs::remove_all(job.path("copy"));
  run("sync");
}

}  // namespace

int main(int argc, char **argv) {
  const size_t mebibytes = argc > 1 ? std::stoul(argv[1]) : 512;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 3;
  if (argc > 3) setenv("TMPDIR", argv[3], 1);
  Job job(1, ranks);
  make_sources(job, mebibytes);
  std::vector<double> times[4];
  for (int round = 0; round < rounds; ++round)
    for (int turn = 0; turn < 4; ++turn) {
      const int tool = (turn + round) % 4;
      times[tool].push_back(tool < 2 ? copy(job, tool == 1) : upload(job, tool == 3));
      clean(job);
    }
  std::printf("%d ranks, %zu MiB each, %d rounds\n", ranks, mebibytes, rounds);
  bench_row("sharded upload of 4 ranks, not synced", bench::median(times[2]), "4 cp, no checksums",
            bench::median(times[0]), "s", goal);
  bench_row("sharded upload of 4 ranks, durable", bench::median(times[3]),
            "4 cp and sync, no checksums", bench::median(times[1]), "s", goal);
  return 0;
}
