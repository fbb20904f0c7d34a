// det_communicator_functions over MPI.
#pragma once

#include <det/distributed.h>
#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

// What MPI said, in its own words.
class MpiError : public std::runtime_error {
 public:
  MpiError(const char *tried, int result);
};

// Initialises MPI unless that is done; the last session finalises what the first one initialised.
// Where none is the last, since a program forgets one, or a job has failed, in which finalising may
// wait for a rank that hangs, exit() does it.
class MpiSession {
 public:
  MpiSession();
  ~MpiSession();
  MpiSession(const MpiSession &) = delete;
  MpiSession &operator=(const MpiSession &) = delete;

  void give_up() noexcept;

 private:
  static void exiting(int status, void *);

  static std::mutex mutex_;
  static int sessions_;
  static bool ours_, failed_;
};

class MpiSums;

class MpiTransport {
 public:
  explicit MpiTransport(MPI_Comm comm);
  ~MpiTransport();
  MpiTransport(const MpiTransport &) = delete;
  MpiTransport &operator=(const MpiTransport &) = delete;

  // Takes leave of the other ranks, whatever is still under way.
  void leave() noexcept;

  // The six numbers.
  det_distributed_options options() const;
  det_communicator_functions functions() const;

 private:
  // Where the next short message of a peer arrives. A receive that ended by its time limit stays
  // posted for the next one.
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    std::array<char, DET_SHORT_MESSAGE> data;
  };

  bool is_over() const;
  int32_t send(int peer, int channel, const char *data, size_t size, int64_t timeout_ms);
  int32_t receive(int peer, int channel, char *data, size_t capacity, size_t &size,
                  int64_t timeout_ms);
  int32_t broadcast(int root, int channel, char *data, size_t size, int64_t timeout_ms);
  int32_t start_sum(char *data, size_t count, int dtype);
  int32_t finish_sums(int64_t timeout_ms);
  int32_t finish(MPI_Request &request, int64_t timeout_ms);
  std::vector<int> talked_to() const;
  int32_t wait(MPI_Request &request, MPI_Status *status, int64_t timeout_ms);
  template <class Look>
  int32_t wait_until(const Look &look, int64_t timeout_ms);

  MpiSession session_;
  MPI_Comm job_ = MPI_COMM_NULL;
  MPI_Comm machine_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  int local_rank_ = 0, local_size_ = 1;
  int cross_rank_ = 0, cross_size_ = 1;
  std::vector<int> on_machine_;  // ranks of the job, by local rank
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unique_ptr<MpiSums> sums_;    // once there is one
  std::atomic<bool> broken_{false};  // a request was left behind, so the communicators must stay
  std::atomic<bool> has_left_{false};
};
