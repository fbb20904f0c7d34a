#include "capi/mpi_sums.h"

#include <det/tensors.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "capi/mpi_transport.h"
#include "core/base/half_blocks.h"

namespace {

// MPI counts in int.
constexpr size_t most_elements = size_t{1} << 28U;

// MPI knows neither format: summed in float, rounded to the nearest.
void add_bfloats(void *from, void *into, int *count, MPI_Datatype *) {
  const auto *summands = static_cast<const uint16_t *>(from);
  auto *sums = static_cast<uint16_t *>(into);
  for (int i = 0; i < *count; ++i)
    sums[i] = det::to_bf16(det::from_bf16(sums[i]) + det::from_bf16(summands[i]));
}

void add_halves(void *from, void *into, int *count, MPI_Datatype *) {
  const auto *summands = static_cast<const uint16_t *>(from);
  auto *sums = static_cast<uint16_t *>(into);
  constexpr size_t piece = 1024;
  std::array<float, piece> one, other;  // filled as far as they are read
  for (size_t start = 0, all = static_cast<size_t>(*count); start < all; start += piece) {
    const size_t size = std::min(piece, all - start);
    det::from_halves(sums + start, one.data(), size);
    det::from_halves(summands + start, other.data(), size);
    for (size_t i = 0; i < size; ++i) one[i] += other[i];
    det::to_halves(one.data(), sums + start, size);
  }
}

void check_made(const char *tried, int result) {
  if (result != MPI_SUCCESS) throw MpiError(tried, result);
}

}  // namespace

MpiSums::MpiSums(MPI_Comm job) {
  check_made("MPI_Comm_dup", MPI_Comm_dup(job, &comm_));
  constexpr int commutes = 1;
  check_made("MPI_Op_create", MPI_Op_create(add_halves, commutes, &add_halves_));
  check_made("MPI_Op_create", MPI_Op_create(add_bfloats, commutes, &add_bfloats_));
}

MpiSums::~MpiSums() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (is_over != 0 || finished_ < requests_.size()) return;
  MPI_Op_free(&add_halves_);
  MPI_Op_free(&add_bfloats_);
  MPI_Comm_free(&comm_);
}

int32_t MpiSums::start(char *data, size_t count, int32_t dtype) try {
  const bool is_half = dtype == DET_DTYPE_F16, is_short = is_half || dtype == DET_DTYPE_BF16;
  if (!is_short && dtype != DET_DTYPE_F32 && dtype != DET_DTYPE_F64) return EINVAL;
  const MPI_Datatype type = is_short                 ? MPI_UINT16_T
                            : dtype == DET_DTYPE_F32 ? MPI_FLOAT
                                                     : MPI_DOUBLE;
  const MPI_Op op = !is_short ? MPI_SUM : is_half ? add_halves_ : add_bfloats_;
  int width = 0;
  MPI_Type_size(type, &width);
  for (size_t done = 0; done < count; done += most_elements) {
    const int piece = static_cast<int>(std::min(count - done, most_elements));
    requests_.push_back(MPI_REQUEST_NULL);
    if (MPI_Iallreduce(MPI_IN_PLACE, data + done * static_cast<size_t>(width), piece, type, op,
                       comm_, &requests_.back()) != MPI_SUCCESS)
      return EIO;
  }
  // MPI moves on only while it is called.
  int done = 0;
  if (finished_ < requests_.size()) MPI_Test(&requests_[finished_], &done, MPI_STATUS_IGNORE);
  return 0;
} catch (const std::bad_alloc &) {
  return ENOMEM;
}

int32_t MpiSums::finish(const std::function<int32_t(MPI_Request &)> &wait) {
  for (; finished_ < requests_.size(); ++finished_)
    if (const int32_t result = wait(requests_[finished_]); result != 0) return result;
  requests_.clear();
  finished_ = 0;
  return 0;
}
