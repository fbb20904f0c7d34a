#include "capi/mpi_sums.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "capi/mpi_transport.h"

namespace {

using det::trial::Dtype;

// So many pieces move at a time: small enough for the caches, large enough for their messages.
constexpr size_t most_moving = 2;
constexpr size_t bytes_of_piece = size_t{1} << 20U;
// Where there are more ranks, a share of a piece is no less than this.
constexpr size_t least_share = size_t{64} << 10U;

// Of so many ranks each may send a message to each, however short; of more, only longer ones.
constexpr int few_ranks = 8;
constexpr size_t short_share = 4096;

// Shares begin with a line of the cache.
constexpr size_t elements_of_line = 16;

// MPI knows neither format.
template <Dtype dtype>
void add(void *from, void *into, int *count, MPI_Datatype *) {
  det::trial::add(dtype, into, from, static_cast<size_t>(*count));
}

void check_made(const char *tried, int result) {
  if (result != MPI_SUCCESS) throw MpiError(tried, result);
}

}  // namespace

MpiSums::MpiSums(MPI_Comm job) {
  check_made("MPI_Comm_dup", MPI_Comm_dup(job, &comm_));
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  constexpr int commutes = 1;
  check_made("MPI_Op_create", MPI_Op_create(add<Dtype::f16>, commutes, &add_halves_));
  check_made("MPI_Op_create", MPI_Op_create(add<Dtype::bf16>, commutes, &add_bfloats_));
  while (idle_.size() < most_moving) {
    idle_.push_back(std::make_unique<Piece>());
    idle_.back()->tag = static_cast<int>(2 * idle_.size());
  }
}

MpiSums::~MpiSums() {
  int is_over = 0;
  MPI_Finalized(&is_over);
  for (std::unique_ptr<Piece> &piece : moving_) static_cast<void>(piece.release());
  if (is_over != 0 || !moving_.empty()) return;
  MPI_Op_free(&add_halves_);
  MPI_Op_free(&add_bfloats_);
  MPI_Comm_free(&comm_);
}

int32_t MpiSums::start(char *data, size_t count, int32_t dtype) try {
  const auto its = static_cast<Dtype>(dtype);
  if (!det::trial::is_gradient_dtype(its)) return EINVAL;
  if (count == 0) return 0;
  waiting_.push_back({data, count, its});
  // MPI moves on only while it is called.
  return proceed() == Headway::failure ? EIO : 0;
} catch (const std::bad_alloc &) {
  return ENOMEM;
}

Headway MpiSums::proceed() {
  Headway headway = Headway::none;
  while (!waiting_.empty() && !idle_.empty()) {
    Piece &piece = *moving_.emplace_back(std::move(idle_.front()));
    idle_.pop_front();
    piece.array = cut_next();
    if (!begin(piece)) return Headway::failure;
    headway = Headway::some;
  }
  for (const std::unique_ptr<Piece> &piece : moving_) {
    const Headway of_piece = move_on(*piece);
    if (of_piece == Headway::failure) return of_piece;
    if (of_piece != Headway::none) headway = Headway::some;
  }
  while (!moving_.empty() && moving_.front()->requests.empty()) {
    idle_.push_back(std::move(moving_.front()));
    moving_.pop_front();
  }
  return moving_.empty() && waiting_.empty() ? Headway::all : headway;
}

MpiSums::Array MpiSums::cut_next() {
  Array &whole = waiting_.front();
  const size_t most = std::max(bytes_of_piece, static_cast<size_t>(size_) * least_share);
  const Array piece{whole.data, std::min(whole.count, most / whole.width()), whole.dtype};
  whole.data += piece.bytes();
  whole.count -= piece.count;
  if (whole.count == 0) waiting_.pop_front();
  return piece;
}

MpiSums::Array MpiSums::share_of(int rank, const Array &array) const {
  const size_t all = static_cast<size_t>(size_) * elements_of_line;
  const size_t most = (array.count + all - 1) / all * elements_of_line;
  const size_t first = std::min(array.count, static_cast<size_t>(rank) * most);
  return {array.data + first * array.width(), std::min(array.count - first, most), array.dtype};
}

bool MpiSums::is_for_mpi(const Array &array) const {
  return size_ > few_ranks && array.bytes() < static_cast<size_t>(size_) * short_share;
}

bool MpiSums::begin(Piece &piece) {
  piece.has_sum = is_for_mpi(piece.array);
  return piece.has_sum ? sum_by_mpi(piece) : collect(piece);
}

bool MpiSums::sum_by_mpi(Piece &piece) {
  const Dtype dtype = piece.array.dtype;
  MPI_Datatype type = MPI_UINT16_T;
  MPI_Op op = dtype == Dtype::f16 ? add_halves_ : add_bfloats_;
  if (dtype == Dtype::f32 || dtype == Dtype::f64) {
    type = dtype == Dtype::f32 ? MPI_FLOAT : MPI_DOUBLE;
    op = MPI_SUM;
  }
  piece.requests.push_back(MPI_REQUEST_NULL);
  return MPI_Iallreduce(MPI_IN_PLACE, piece.array.data, static_cast<int>(piece.array.count), type,
                        op, comm_, &piece.requests.back()) == MPI_SUCCESS;
}

bool MpiSums::collect(Piece &piece) {
  const Array mine = share_of(rank_, piece.array);
  piece.received.resize(static_cast<size_t>(size_ - 1) * mine.bytes());
  bool goes_well = true;
  for (int step = 1; step < size_ && goes_well; ++step) {
    const int from = (rank_ + size_ - step) % size_, to = (rank_ + step) % size_;
    goes_well = receive(piece, from, received_from(piece, from), mine.bytes()) &&
                send(piece, to, share_of(to, piece.array));
  }
  return goes_well;
}

char *MpiSums::received_from(Piece &piece, int rank) const {
  const size_t size = piece.received.size() / static_cast<size_t>(size_ - 1);
  return piece.received.data() + static_cast<size_t>(rank < rank_ ? rank : rank - 1) * size;
}

void MpiSums::add_up(Piece &piece) {
  const Array mine = share_of(rank_, piece.array);
  summands_.clear();
  for (int rank = 0; rank < size_; ++rank)
    summands_.push_back(rank == rank_ ? mine.data : received_from(piece, rank));
  det::trial::sum(mine.dtype, mine.data, summands_, mine.count, 1);
}

bool MpiSums::give(Piece &piece) {
  const Array mine = share_of(rank_, piece.array);
  bool goes_well = true;
  for (int step = 1; step < size_ && goes_well; ++step) {
    const int from = (rank_ + size_ - step) % size_, to = (rank_ + step) % size_;
    const Array theirs = share_of(from, piece.array);
    goes_well = receive(piece, from, theirs.data, theirs.bytes()) && send(piece, to, mine);
  }
  return goes_well;
}

bool MpiSums::receive(Piece &piece, int from, char *data, size_t size) {
  if (size == 0) return true;
  piece.requests.push_back(MPI_REQUEST_NULL);
  return MPI_Irecv(data, static_cast<int>(size), MPI_BYTE, from, piece.tag + piece.has_sum, comm_,
                   &piece.requests.back()) == MPI_SUCCESS;
}

bool MpiSums::send(Piece &piece, int to, const Array &array) {
  if (array.count == 0) return true;
  piece.requests.push_back(MPI_REQUEST_NULL);
  return MPI_Isend(array.data, static_cast<int>(array.bytes()), MPI_BYTE, to,
                   piece.tag + piece.has_sum, comm_, &piece.requests.back()) == MPI_SUCCESS;
}

Headway MpiSums::move_on(Piece &piece) {
  int done = 0;
  if (MPI_Testall(static_cast<int>(piece.requests.size()), piece.requests.data(), &done,
                  MPI_STATUSES_IGNORE) != MPI_SUCCESS)
    return Headway::failure;
  if (done == 0) return Headway::none;
  piece.requests.clear();
  if (piece.has_sum) return Headway::all;
  add_up(piece);
  piece.has_sum = true;
  return give(piece) ? Headway::some : Headway::failure;
}
