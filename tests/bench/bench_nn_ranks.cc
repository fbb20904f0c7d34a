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

namespace {

constexpr double budget_of_two = 1.7;
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

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
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
  double records = 1 / median(one);  // of all ranks alone
  MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank() != 0) return;
  const double seconds_alone = job.size() / records;
  const double times = job.size() * seconds_alone / median(all);
  std::printf("%-11s at %4lld a rank: alone %9.1f us, %d ranks %9.1f us: %5.2f times the records",
              name, static_cast<long long>(batch), seconds_alone * 1e6, job.size(),
              median(all) * 1e6, times);
  if (job.size() == 2)
    std::printf("   budget %.1f: %s", budget_of_two, times >= budget_of_two ? "met" : "missed");
  std::printf("\n");
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
