// Two ranks that MPI has started, and that a core of C++ takes along.
#include <det/core.hpp>
#include <det/mpi.hpp>

#include <cstdio>
#include <string>

#include "tests/temporary_directory.h"

namespace {

bool run(det::Distributed job) {
  const det::TemporaryDirectory home;
  det::CoreOptions options;
  options.master = home.path().string();  // the chief's counts
  const det::Core core = det::Core::init(options, std::move(job));
  const det::DistributedView ranks = core.distributed();
  std::string all;
  for (const std::string_view message : ranks.allgather(std::to_string(ranks.rank())))
    all += message;
  if (core.preempt().should_preempt()) return false;
  core.close();
  return ranks.size() == 2 && all == "01";
}

}  // namespace

int main() {
  MPI_Init(nullptr, nullptr);
  const bool good = run(det::distributed_from_mpi(MPI_COMM_WORLD)) &&
                    run(det::distributed_from_mpi_world());  // frees before MPI ends
  MPI_Finalize();
  if (!good) std::fputs("the ranks did not meet\n", stderr);
  return good ? 0 : 1;
}
