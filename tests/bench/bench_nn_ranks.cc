// Steps of models over the ranks of an MPI job, a thread each, against those of each rank alone,
// whose processors may differ:
//
//   mpirun -n 2 bench_nn_ranks
//
// Each rank has as many records as alone, and together they wait for the slowest. Turns go round,
// and medians are printed: how many times the records of one rank, in the mean of them, the ranks
// train in a second.
#include <det/mpi.hpp>
#include <det/trials/ranks.hpp>

#include "tests/bench/measure.h"
#include "tests/bench/nn_models.h"
#include "tests/bench/row.h"

namespace {

constexpr double goal_of_two = 1.7;
constexpr int turns = 9;

double seconds_of(const std::function<void()> &step, int steps) {
  std::vector<int64_t> times;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < steps; ++i) {
    const int64_t begin = bench::now_ns();
    step();
    times.push_back(bench::now_ns() - begin);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (steps == 0) return 0;
  return static_cast<double>(bench::distribution(times).median) / 1e9;
}

void compare(const det::DistributedView &job, const char *name, int64_t batch, int steps) {
  const bench::TrainedCase alone = bench::make_trained_case(name, batch);
  const bench::TrainedCase together = bench::make_trained_case(name, batch);
  det::trials::Ranks ranks(job, together.model, {});
  std::vector<double> one, all;
  for (int turn = 0; turn < turns; ++turn) {
    const auto step = [&] { alone.model.train_on_batch(alone.records); };
    for (int32_t rank = 0; rank < job.size(); ++rank) {
      const double seconds = seconds_of(step, job.rank() == rank ? steps : 0);
      if (job.rank() == rank) one.push_back(seconds);
    }
    all.push_back(seconds_of([&] { ranks.train_on_batch(together.records); }, steps));
  }
  double records = 1 / bench::median(one);  // of all ranks alone
  MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank() != 0) return;
  const double seconds_alone = job.size() / records;
  const std::string what = std::string("a step of ") + name + " over " +
                           std::to_string(job.size()) + " ranks, " + std::to_string(batch) +
                           " records each";
  bench_row(what.c_str(), job.size() * static_cast<double>(batch) / bench::median(all), "one rank",
            static_cast<double>(batch) / seconds_alone, "records/s",
            job.size() == 2 ? goal_of_two : 0);
}

}  // namespace

int main() {
  setenv("OMP_NUM_THREADS", "1", 1);
  const det::Distributed job = det::distributed_from_mpi_world();
  compare(job, "mlp", 64, 400);
  compare(job, "mlp", 1024, 30);
  compare(job, "cnn", 64, 10);
  compare(job, "lstm", 64, 20);
  compare(job, "transformer", 16, 15);
}
