#include "core/trial/nccl_ranks.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/trial/reduction.h"

namespace det::trial {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *adding_up = "adding up gradients by NCCL";

// Others may go on for long before they leave as well.
constexpr std::chrono::milliseconds longest_farewell{500};

// Sums take microseconds, or another rank is late.
bool is_soon(const NcclRanks::IsDone &is_done, Clock::duration limit) {
  constexpr std::chrono::milliseconds at_once{1};
  constexpr std::chrono::microseconds pause{50};
  const Clock::time_point start = Clock::now();
  while (!is_done()) {
    const Clock::duration waited = Clock::now() - start;
    if (waited >= limit) return false;
    if (waited < at_once) std::this_thread::yield();
    else std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace

void NcclRanks::connect() {
  Nccl::UniqueId id{};
  const std::string chosen = comm::chief_decides(communicator_, stepping_gradients, [&] {
    nccl_->check(nccl_->ncclGetUniqueId(&id), "beginning to add up gradients by NCCL");
    return std::string(id.bytes.begin(), id.bytes.end());
  });
  std::copy_n(chosen.begin(), std::min(chosen.size(), id.bytes.size()), id.bytes.begin());
  const comm::Ranks &ranks = communicator_.ranks();
  Nccl::Config config;
  ask("connecting the CUDA devices of the ranks by NCCL",
      [&] { return nccl_->ncclCommInitRankConfig(&ranks_, ranks.size, id, ranks.rank, &config); });
}

void NcclRanks::average(void *data, size_t count, tensors::Dtype dtype, Nccl::Stream stream) {
  check_connected();
  ask(adding_up, [&] {
    return nccl_->ncclAllReduce(data, data, count, Nccl::number_of(dtype), Nccl::average, ranks_,
                                stream);
  });
}

void NcclRanks::wait(const IsDone &is_done) {
  check_connected();
  await(adding_up, [&] { return is_under_way(adding_up) && is_done(); });
}

void NcclRanks::check_connected() const {
  if (ranks_ == nullptr) throw Error(Code::state, std::string(adding_up) + ": it failed before");
}

// The call itself is a part of the wait: what fails there is over for all ranks as well.
void NcclRanks::ask(const std::string &doing, const std::function<Nccl::Result()> &call) {
  bool is_asked = false;
  await(doing, [&] {
    if (!std::exchange(is_asked, true)) nccl_->check(call(), doing);
    return is_under_way(doing);
  });
}

void NcclRanks::await(const std::string &doing, const IsDone &is_done) {
  try {
    communicator_.await(doing,
                        [&](std::chrono::milliseconds limit) { return is_soon(is_done, limit); });
  } catch (...) {
    abort();
    throw;
  }
}

bool NcclRanks::is_under_way(const std::string &doing) {
  Nccl::Result state = Nccl::success;
  nccl_->check(nccl_->ncclCommGetAsyncError(ranks_, &state), doing);
  nccl_->check(state, doing);
  return state == Nccl::success;
}

void NcclRanks::abort() noexcept {
  if (ranks_ != nullptr) nccl_->ncclCommAbort(std::exchange(ranks_, nullptr));
}

// Others may still be in a sum that this rank is past, or never come to one that it has begun; when
// all have left nobody needs anything of it.
void NcclRanks::leave(const IsDone &is_done) noexcept {
  if (ranks_ == nullptr) return;
  try {
    const std::string doing = "leaving NCCL";
    const auto is_idle = [&] { return is_under_way(doing); };
    if (is_soon([&] { return is_idle() && is_done(); }, longest_farewell)) {
      nccl_->check(nccl_->ncclCommFinalize(ranks_), doing);
      if (is_soon(is_idle, longest_farewell)) {
        nccl_->ncclCommDestroy(std::exchange(ranks_, nullptr));
        return;
      }
    }
  } catch (const std::exception &) {
    // Somebody left without a farewell.
  }
  abort();
}

}  // namespace det::trial
