#include "capi/mpi_parting.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <mutex>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int goodbye_tag = 4;

std::mutex mutex;
std::vector<MpiParting> postponed;

// MPI_Finalize() begins with deleting what is attached to MPI_COMM_SELF.
int finish_all(MPI_Comm, int, void *, void *) {
  constexpr int patience_ms = 2000;
  const std::lock_guard guard(mutex);
  for (MpiParting &parting : postponed) parting.finish(patience_ms);
  postponed.clear();
  return MPI_SUCCESS;
}

}  // namespace

MpiParting::MpiParting(MPI_Comm job, MPI_Comm machine, const std::vector<int> &peers) noexcept
    : job_(job), machine_(machine), staying_(peers) {
  for (const int peer : peers) MPI_Send(nullptr, 0, MPI_BYTE, peer, goodbye_tag, job_);
}

void MpiParting::take(const MPI_Status &status) {
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  std::vector<char> message(static_cast<size_t>(count));
  MPI_Recv(message.data(), count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, job_,
           MPI_STATUS_IGNORE);
  if (status.MPI_TAG == goodbye_tag) std::erase(staying_, status.MPI_SOURCE);
}

bool MpiParting::finish(int limit_ms) noexcept try {
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(limit_ms);
  while (!staying_.empty()) {
    int found = 0;
    MPI_Status status;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, job_, &found, &status) != MPI_SUCCESS) return false;
    if (found != 0) {
      take(status);
      continue;
    }
    if (Clock::now() >= end) return false;
    usleep(50);
  }
  MPI_Comm_free(&machine_);
  MPI_Comm_free(&job_);
  return true;
} catch (const std::exception &) {
  return false;
}

void MpiParting::postpone(const MpiParting &parting) noexcept try {
  const std::lock_guard guard(mutex);
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_all, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  }
  postponed.push_back(parting);
} catch (const std::exception &) {
  return;
}
