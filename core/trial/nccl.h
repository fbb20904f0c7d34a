// NVIDIA's library of collectives between devices, opened at run time: neither it nor its headers
// are needed to build or to run.
#pragma once

#include <array>
#include <climits>
#include <cstddef>
#include <memory>
#include <string>

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

}  // namespace det::trial
