#include "core/trial/nccl.h"

#include <dlfcn.h>

#include "core/base/error.h"

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

}  // namespace det::trial
