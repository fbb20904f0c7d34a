#include "core/trial/gradients/nccl.h"

#include <dlfcn.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/trial/gradients/reduction.h"

namespace det::trial {

namespace {

constexpr const char *library_name = "libnccl.so.2";
constexpr int oldest_version = 21400;

[[noreturn]] void throw_missing(const std::string &what) {
  throw Error(Code::unsupported, what +
                                     "; install NCCL 2.14 or later where the loader finds it, such "
                                     "as by LD_LIBRARY_PATH");
}

template <class Function>
void find(void *library, const char *name, Function *&function) {
  function = reinterpret_cast<Function *>(dlsym(library, name));
  if (function == nullptr) throw_missing(std::string(library_name) + " has no " + name + "()");
}

}  // namespace

#define DET_FIND(name) find(library, #name, name)
Nccl::Nccl(void *library) {
  DET_FIND(ncclGetVersion);
  int version = 0;
  if (ncclGetVersion(&version) != success || version < oldest_version)
    throw_missing(std::string(library_name) + " is of version " + std::to_string(version));
  DET_FIND(ncclGetUniqueId);
  DET_FIND(ncclCommInitRankConfig);
  DET_FIND(ncclAllReduce);
  DET_FIND(ncclCommGetAsyncError);
  DET_FIND(ncclCommFinalize);
  DET_FIND(ncclCommDestroy);
  DET_FIND(ncclCommAbort);
  DET_FIND(ncclGetErrorString);
}
#undef DET_FIND

// The library is never closed: it has threads.
std::shared_ptr<const Nccl> Nccl::load() {
  void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char *reason = dlerror();
    throw_missing(std::string(library_name) + " cannot be loaded (" +
                  (reason != nullptr ? reason : "no reason given") + ")");
  }
  return std::shared_ptr<const Nccl>(new Nccl(library));
}

void Nccl::check(Result result, const std::string &tried) const {
  if (result == success || result == in_progress) return;
  throw Error(Code::unavailable,
              tried + ": NCCL answers " + std::to_string(result) + " (" +
                  ncclGetErrorString(result) +
                  "); the variable NCCL_DEBUG=WARN has it say more, and "
                  "DET_TRIAL_REDUCTION_SHARED_MEMORY, _TRANSPORT or _MESSAGES do without it");
}

int Nccl::number_of(tensors::Dtype dtype) {
  switch (dtype) {
    case tensors::Dtype::f16:
      return 6;
    case tensors::Dtype::f32:
      return 7;
    case tensors::Dtype::f64:
      return 8;
    case tensors::Dtype::bf16:
      return 9;
    default:
      throw Error(Code::internal, "adding up gradients by NCCL: no dtype of gradients");
  }
}

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
