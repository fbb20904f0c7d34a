// The ranks of a job as NCCL knows them, each with a device of its own. What NCCL fails with fails
// the job; no wait for others is longer than the job has patience.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "core/comm/communicator.h"
#include "core/trial/nccl.h"

namespace det::trial {

// For one thread at a time, which works in the context of the device in each call.
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
