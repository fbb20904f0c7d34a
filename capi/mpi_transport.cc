#include "capi/mpi_transport.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <set>
#include <string>
#include <thread>

#include "capi/mpi_sums.h"

namespace {

using Clock = std::chrono::steady_clock;

// MPI counts in int.
constexpr size_t largest_piece = size_t{1} << 30U;
constexpr int tag_of(int channel, bool bulk) { return 2 * channel + (bulk ? 1 : 0); }

// Threads may be in collectives of the job, of their machine and of other jobs at a time. MPI they
// call one after the other, which is what MPI_THREAD_SERIALIZED asks for, and wait without it.
std::mutex calling_mpi;

std::string reason_of(int result) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int size = 0;
  MPI_Error_string(result, text.data(), &size);
  return {text.data(), static_cast<size_t>(size)};
}

void check(const char *tried, int result) {
  if (result != MPI_SUCCESS) throw MpiError(tried, result);
}

template <class Start>
bool is_started(const Start &start) {
  const std::lock_guard one_at_a_time(calling_mpi);
  return start() == MPI_SUCCESS;
}

bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

// Of this process that are not destroyed, for exit().
std::mutex living_mutex;
std::set<MpiTransport *> living;

// The other ranks of a job that has failed may hang, and this process with them.
constexpr std::chrono::seconds to_finalize{5};

// What is left between ranks that freed their handles at different times.
//
// The communicators of a job that this rank has left. Messages on their way must be received, or
// they meet a later communicator with the same number, and some MPIs wait for them in
// MPI_Finalize(): so everybody's last message says that no other comes.
class MpiParting {
 public:
  // Says goodbye to `peers`, the ranks of `job` that this one may have talked to.
  MpiParting(MPI_Comm job, MPI_Comm machine, const std::vector<int> &peers) noexcept;

  // Takes what the others sent until they, too, said goodbye; then frees the communicators. False
  // when not all did within the limit.
  bool finish(int limit_ms) noexcept;

  // For finish() at the beginning of MPI_Finalize(), when all ranks have freed their handles.
  static void postpone(const MpiParting &parting) noexcept;

 private:
  void take(const MPI_Status &status);

  MPI_Comm job_, machine_;
  std::vector<int> staying_;
};

constexpr int goodbye_tag = 4;

std::mutex postponed_mutex;
std::vector<MpiParting> postponed;

// MPI_Finalize() begins with deleting what is attached to MPI_COMM_SELF.
int finish_all(MPI_Comm, int, void *, void *) {
  constexpr int patience_ms = 2000;
  const std::lock_guard guard(postponed_mutex);
  for (MpiParting &parting : postponed) parting.finish(patience_ms);
  postponed.clear();
  return MPI_SUCCESS;
}

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
  const std::lock_guard guard(postponed_mutex);
  static int key = MPI_KEYVAL_INVALID;
  if (key == MPI_KEYVAL_INVALID) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finish_all, &key, nullptr);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  }
  postponed.push_back(parting);
} catch (const std::exception &) {
  return;
}

}  // namespace

MpiError::MpiError(const char *tried, int result)
    : std::runtime_error("joining a job over MPI: " + std::string(tried) + ": " +
                         reason_of(result)) {}

std::mutex MpiSession::mutex_;
int MpiSession::sessions_ = 0;
bool MpiSession::ours_ = false, MpiSession::failed_ = false;

MpiSession::MpiSession() {
  const std::lock_guard guard(mutex_);
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    int provided = 0;
    check("MPI_Init_thread", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided));
    ours_ = true;
    static pid_t process;
    process = getpid();
    on_exit(exiting, &process);
  }
  ++sessions_;
}

MpiSession::~MpiSession() {
  const std::lock_guard guard(mutex_);
  if (--sessions_ == 0 && ours_ && !failed_ && !is_finalized()) MPI_Finalize();
}

void MpiSession::give_up() noexcept {
  const std::lock_guard guard(mutex_);
  failed_ = true;
}

// Who ends without finalising has failed to those who launched it, and with another status than 0
// that is what it says: they end the other ranks, which would wait for this one. A forked child
// leaves all that to its parent.
void MpiSession::exiting(int status, void *process) {
  if (status != 0 || *static_cast<pid_t *>(process) != getpid() || is_finalized()) return;
  {
    const std::lock_guard guard(living_mutex);
    for (MpiTransport *transport : living) transport->leave();
  }
  if (failed_) try {
      std::fflush(nullptr);
      std::thread([] {
        std::this_thread::sleep_for(to_finalize);
        _exit(0);
      }).detach();
    } catch (const std::system_error &) {
      return;
    }
  MPI_Finalize();
}

MpiTransport::MpiTransport(MPI_Comm comm) {
  const std::lock_guard one_at_a_time(calling_mpi);
  check("MPI_Comm_dup", MPI_Comm_dup(comm, &job_));
  MPI_Comm_set_errhandler(job_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(job_, &rank_);
  MPI_Comm_size(job_, &size_);
  check("MPI_Comm_split_type",
        MPI_Comm_split_type(job_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine_));
  MPI_Comm_set_errhandler(machine_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(machine_, &local_rank_);
  MPI_Comm_size(machine_, &local_size_);
  on_machine_.resize(static_cast<size_t>(local_size_));
  check("MPI_Allgather",
        MPI_Allgather(&rank_, 1, MPI_INT, on_machine_.data(), 1, MPI_INT, machine_));
  // A machine is known by its lowest rank.
  std::vector<int> machines(static_cast<size_t>(size_));
  check("MPI_Allgather",
        MPI_Allgather(&on_machine_.front(), 1, MPI_INT, machines.data(), 1, MPI_INT, job_));
  const std::set<int> ordered(machines.begin(), machines.end());
  cross_size_ = static_cast<int>(ordered.size());
  cross_rank_ = static_cast<int>(std::distance(ordered.begin(), ordered.find(on_machine_.front())));
  slots_.resize(2 * static_cast<size_t>(size_));
  const std::lock_guard guard(living_mutex);
  living.insert(this);
}

MpiTransport::~MpiTransport() {
  {
    const std::lock_guard guard(living_mutex);
    living.erase(this);
  }
  leave();
}

bool MpiTransport::is_over() const { return has_left_.load() || is_finalized(); }

void MpiTransport::leave() noexcept {
  const std::lock_guard one_at_a_time(calling_mpi);
  if (is_finalized() || has_left_.exchange(true)) return;
  sums_.reset();
  for (const std::unique_ptr<Slot> &slot : slots_) {
    if (!slot || slot->request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&slot->request);
    MPI_Wait(&slot->request, MPI_STATUS_IGNORE);
  }
  // What was left behind may still be on its way.
  if (broken_) return;
  constexpr int patience_ms = 200;
  MpiParting parting(job_, machine_, talked_to());
  if (!parting.finish(patience_ms)) MpiParting::postpone(parting);
}

// The ranks that this one may have exchanged messages with, each of which says the same: all of a
// small job, and in a large one chiefs and those they speak for.
std::vector<int> MpiTransport::talked_to() const {
  constexpr int small_job = 64;
  std::vector<int> peers;
  for (int peer = 0; peer < size_; ++peer)
    if (peer != rank_ && (size_ <= small_job || rank_ == 0 || peer == 0)) peers.push_back(peer);
  if (size_ <= small_job) return peers;
  for (const int peer : on_machine_)
    if (peer != rank_ && peer != 0 && rank_ != 0) peers.push_back(peer);
  return peers;
}

det_distributed_options MpiTransport::options() const {
  det_distributed_options options = DET_DISTRIBUTED_OPTIONS_INIT;
  options.rank = rank_;
  options.size = size_;
  options.local_rank = local_rank_;
  options.local_size = local_size_;
  options.cross_rank = cross_rank_;
  options.cross_size = cross_size_;
  return options;
}

det_communicator_functions MpiTransport::functions() const {
  det_communicator_functions functions = DET_COMMUNICATOR_FUNCTIONS_INIT;
  functions.send = [](int32_t peer, int32_t channel, const void *data, size_t size,
                      int64_t timeout_ms, void *user_data) {
    return static_cast<MpiTransport *>(user_data)->send(
        peer, channel, static_cast<const char *>(data), size, timeout_ms);
  };
  functions.receive = [](int32_t peer, int32_t channel, void *data, size_t capacity, size_t *size,
                         int64_t timeout_ms, void *user_data) {
    return static_cast<MpiTransport *>(user_data)->receive(peer, channel, static_cast<char *>(data),
                                                           capacity, *size, timeout_ms);
  };
  functions.broadcast = [](int32_t root, int32_t channel, void *data, size_t size,
                           int64_t timeout_ms, void *user_data) {
    return static_cast<MpiTransport *>(user_data)->broadcast(
        root, channel, static_cast<char *>(data), size, timeout_ms);
  };
  functions.destroy = [](void *user_data) { delete static_cast<MpiTransport *>(user_data); };
  functions.start_sum = [](void *data, size_t count, int32_t dtype, void *user_data) {
    return static_cast<MpiTransport *>(user_data)->start_sum(static_cast<char *>(data), count,
                                                             dtype);
  };
  functions.finish_sums = [](int64_t timeout_ms, void *user_data) {
    return static_cast<MpiTransport *>(user_data)->finish_sums(timeout_ms);
  };
  functions.give_up = [](void *user_data) {
    static_cast<MpiTransport *>(user_data)->broken_ = true;
    static_cast<MpiTransport *>(user_data)->session_.give_up();
  };
  functions.any_pair = 1;
  functions.shared_memory = 1;
  return functions;
}

// MPI moves messages only while it is called, so this looks again and again: at first without a
// pause, as MPI's own waiting does; after a while in vain with short ones, which leave the core to
// others.
template <class Look>
int32_t MpiTransport::wait_until(const Look &look, int64_t timeout_ms) {
  constexpr int patient_after = 20'000;
  Clock::time_point end;
  for (int round = 1, in_vain = 1;; ++round, ++in_vain) {
    Headway headway = Headway::none;
    {
      const std::lock_guard one_at_a_time(calling_mpi);
      if (has_left_.load(std::memory_order_relaxed)) return ENOTCONN;
      headway = look();
    }
    if (headway == Headway::all) return 0;
    if (headway == Headway::failure) return EIO;
    if (headway == Headway::some) in_vain = 0;
    if (timeout_ms == 0) return ETIMEDOUT;
    if (round % 64 != 0) continue;
    const Clock::time_point now = Clock::now();
    if (round == 64) end = now + std::chrono::milliseconds(timeout_ms);
    if (now >= end) return ETIMEDOUT;
    if (in_vain > patient_after) usleep(50);
  }
}

int32_t MpiTransport::wait(MPI_Request &request, MPI_Status *status, int64_t timeout_ms) {
  return wait_until(
      [&] {
        int done = 0;
        if (MPI_Test(&request, &done, status) != MPI_SUCCESS) return Headway::failure;
        return done != 0 ? Headway::all : Headway::none;
      },
      timeout_ms);
}

// All ranks are at the first sum, so that it may make what is for sums alone.
int32_t MpiTransport::start_sum(char *data, size_t count, int dtype) {
  const std::lock_guard one_at_a_time(calling_mpi);
  if (is_over()) return ENOTCONN;
  if (!sums_) sums_ = std::make_unique<MpiSums>(job_);
  return sums_->start(data, count, dtype);
}

int32_t MpiTransport::finish_sums(int64_t timeout_ms) {
  if (is_over() || !sums_) return ENOTCONN;
  const int32_t result = wait_until([this] { return sums_->proceed(); }, timeout_ms);
  if (result != 0 && result != ETIMEDOUT) broken_ = true;
  return result;
}

// Ends a request, or leaves it behind: MPI can take neither a send nor a collective back.
int32_t MpiTransport::finish(MPI_Request &request, int64_t timeout_ms) {
  const int32_t result = wait(request, MPI_STATUS_IGNORE, std::max<int64_t>(timeout_ms, 1));
  if (result != 0) broken_ = true;
  return result;
}

// A short message leaves at once; for bulk, the other side is there already.
int32_t MpiTransport::send(int peer, int channel, const char *data, size_t size,
                           int64_t timeout_ms) {
  if (is_over()) return ENOTCONN;
  if (size <= DET_SHORT_MESSAGE) {
    const std::lock_guard one_at_a_time(calling_mpi);
    return MPI_Send(data, static_cast<int>(size), MPI_BYTE, peer, tag_of(channel, false), job_) ==
                   MPI_SUCCESS
               ? 0
               : EIO;
  }
  int32_t result = 0;
  for (size_t done = 0; done < size && result == 0; done += largest_piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int piece = static_cast<int>(std::min(size - done, largest_piece));
    if (!is_started([&] {
          return MPI_Isend(data + done, piece, MPI_BYTE, peer, tag_of(channel, true), job_,
                           &request);
        }))
      return EIO;
    result = finish(request, timeout_ms);
  }
  return result;
}

int32_t MpiTransport::receive(int peer, int channel, char *data, size_t capacity, size_t &size,
                              int64_t timeout_ms) {
  if (is_over()) return ENOTCONN;
  if (capacity > DET_SHORT_MESSAGE) {
    for (size = 0; size < capacity;) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int piece = static_cast<int>(std::min(capacity - size, largest_piece));
      if (!is_started([&] {
            return MPI_Irecv(data + size, piece, MPI_BYTE, peer, tag_of(channel, true), job_,
                             &request);
          }))
        return EIO;
      if (const int32_t result = finish(request, timeout_ms); result != 0) return result;
      size += static_cast<size_t>(piece);
    }
    return 0;
  }
  std::unique_ptr<Slot> &slot =
      slots_[2 * static_cast<size_t>(peer) + static_cast<size_t>(channel)];
  if (!slot) slot.reset(new Slot);  // without clearing its bytes
  if (slot->request == MPI_REQUEST_NULL && !is_started([&] {
        return MPI_Irecv(slot->data.data(), static_cast<int>(slot->data.size()), MPI_BYTE, peer,
                         tag_of(channel, false), job_, &slot->request);
      }))
    return EIO;
  MPI_Status status;
  const int32_t result = wait(slot->request, &status, timeout_ms);
  if (result != 0) return result;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  size = std::min(static_cast<size_t>(count), capacity);
  std::memcpy(data, slot->data.data(), size);
  return 0;
}

int32_t MpiTransport::broadcast(int root, int channel, char *data, size_t size,
                                int64_t timeout_ms) {
  if (is_over()) return ENOTCONN;
  const MPI_Comm comm = channel == 0 ? job_ : machine_;
  const int from = channel == 0
                       ? root
                       : static_cast<int>(std::find(on_machine_.begin(), on_machine_.end(), root) -
                                          on_machine_.begin());
  int32_t result = 0;
  for (size_t done = 0; done < size && result == 0; done += largest_piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int piece = static_cast<int>(std::min(size - done, largest_piece));
    if (!is_started([&] { return MPI_Ibcast(data + done, piece, MPI_BYTE, from, comm, &request); }))
      return EIO;
    result = finish(request, timeout_ms);
  }
  return result;
}
