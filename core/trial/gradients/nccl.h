// NVIDIA's library of collectives between devices, opened at run time: neither it nor its headers
// are needed to build or to run.
#pragma once

#include <array>
#include <chrono>
#include <climits>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/tensors/dtype.h"

namespace det::trial {

// Of its functions those that sums need, by the names that it exports.
class Nccl {
 public:
  using Result = int;
  static constexpr Result success = 0, in_progress = 7;
  using Communicator = void *;
  using Stream = void *;
  struct UniqueId {
    std::array<char, 128> bytes;
  };
  // As of version 2.14; later ones know how much of theirs is not there.
  struct Config {
    size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int is_blocking = 0;      // no call waits for other ranks
    int undefined = INT_MIN;  // by the library's own mark, where it has another member now
  };

  // Throws Code::unsupported where there is none, or one that always waits for other ranks.
  static std::shared_ptr<const Nccl> load();

  // Throws Code::unavailable, with what the library says, for what is neither done nor under way.
  void check(Result result, const std::string &tried) const;

  // Numbers of its interface.
  static int number_of(tensors::Dtype dtype);
  static constexpr int average = 4;

  Result (*ncclGetVersion)(int *version);
  Result (*ncclGetUniqueId)(UniqueId *id);
  Result (*ncclCommInitRankConfig)(Communicator *made, int ranks, UniqueId id, int rank,
                                   Config *config);
  Result (*ncclAllReduce)(const void *from, void *to, size_t count, int dtype, int operation,
                          Communicator communicator, Stream stream);
  Result (*ncclCommGetAsyncError)(Communicator communicator, Result *error);
  Result (*ncclCommFinalize)(Communicator communicator);
  Result (*ncclCommDestroy)(Communicator communicator);
  Result (*ncclCommAbort)(Communicator communicator);
  const char *(*ncclGetErrorString)(Result result);

 private:
  explicit Nccl(void *library);
};

// The ranks of a job as NCCL knows them, each with a device of its own. What NCCL fails with fails
// the job; no wait for others is longer than the job has patience. For one thread at a time, which
// works in the context of the device in each call.
class NcclRanks {
 public:
  // Throws Code::unsupported where NCCL cannot be had.
  explicit NcclRanks(comm::Communicator &communicator)
      : communicator_(communicator), nccl_(Nccl::load()) {}
  NcclRanks(const NcclRanks &) = delete;
  NcclRanks &operator=(const NcclRanks &) = delete;
  ~NcclRanks() { abort(); }

  // Collective.
  void connect();
  // Has `stream` average what is there, in place. All ranks ask for the same in the same order.
  void average(void *data, size_t count, tensors::Dtype dtype, Nccl::Stream stream);
  // Waits until the device says that all it was asked for is done.
  using IsDone = std::function<bool()>;
  void wait(const IsDone &is_done);
  // Waits for others no longer than they usually need, with `is_done` as above.
  void leave(const IsDone &is_done) noexcept;

 private:
  void check_connected() const;
  void ask(const std::string &doing, const std::function<Nccl::Result()> &call);
  void await(const std::string &doing, const IsDone &is_done);
  bool is_under_way(const std::string &doing);
  void abort() noexcept;

  comm::Communicator &communicator_;
  const std::shared_ptr<const Nccl> nccl_;
  Nccl::Communicator ranks_ = nullptr;  // none before connect(), and after a failure
};

}  // namespace det::trial
