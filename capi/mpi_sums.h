// Sums of arrays over all ranks by MPI, several at a time.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/trial/gradients/arithmetic.h"

// What one look at MPI has brought.
enum class Headway { none, some, all, failure };

// An array goes in pieces. Each rank gets its share of a piece from all others, adds them up in the
// order of the ranks, and gives the sum to all: so every rank gets the same bits. MPI_Iallreduce()
// takes twice as long. It is left with the small arrays of many ranks, for which a message from
// each to each is too much.
class MpiSums {
 public:
  // Collective. A communicator of their own keeps them apart from other collectives.
  explicit MpiSums(MPI_Comm job);
  // Leaves behind what is not finished.
  ~MpiSums();
  MpiSums(const MpiSums &) = delete;
  MpiSums &operator=(const MpiSums &) = delete;

  // As det_communicator_functions has it.
  int32_t start(char *data, size_t count, int32_t dtype);
  // Takes the sums that were started as far as they go without waiting.
  Headway proceed();

 private:
  struct Array {
    char *data = nullptr;
    size_t count = 0;
    det::trial::Dtype dtype = det::trial::Dtype::f32;
    size_t width() const { return det::trial::bytes_of(dtype); }
    size_t bytes() const { return count * width(); }
  };
  struct Piece {
    Array array;
    int tag = 0;
    bool has_sum = false;  // of this rank's share; it is on its way to all
    std::vector<MPI_Request> requests = {};
    std::vector<char> received = {};  // the others' parts of this rank's share
  };

  Array cut_next();
  Array share_of(int rank, const Array &array) const;
  bool is_for_mpi(const Array &array) const;
  bool begin(Piece &piece);
  bool sum_by_mpi(Piece &piece);
  bool collect(Piece &piece);
  void add_up(Piece &piece);
  bool give(Piece &piece);
  bool receive(Piece &piece, int from, char *data, size_t size);
  bool send(Piece &piece, int to, const Array &array);
  char *received_from(Piece &piece, int rank) const;
  Headway move_on(Piece &piece);

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  MPI_Op add_halves_ = MPI_OP_NULL, add_bfloats_ = MPI_OP_NULL;
  std::deque<Array> waiting_;
  std::deque<std::unique_ptr<Piece>> moving_, idle_;
  std::vector<const char *> summands_;
};
