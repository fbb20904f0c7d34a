#include "capi/mpi_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace {

constexpr const char *library = "libdetcore-mpi.so.0";

// MPI finds its parts among the global symbols.
void *open_library() {
  Dl_info here{};
  if (dladdr(reinterpret_cast<void *>(&load_mpi_library), &here) != 0) {
    const auto beside = std::filesystem::path(here.dli_fname).parent_path() / library;
    if (void *handle = dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
  }
  return dlopen(library, RTLD_NOW | RTLD_GLOBAL);
}

}  // namespace

bool is_mpi_library_there() noexcept {
  try {
    return open_library() != nullptr;
  } catch (const std::exception &) {
    return false;
  }
}

JoinMpiWorld load_mpi_library(const det::comm::Launch &launch) {
  if (void *handle = open_library())
    if (void *symbol = dlsym(handle, "det_distributed_from_mpi_world"))
      return reinterpret_cast<JoinMpiWorld>(symbol);
  const char *reason = dlerror();
  const det::comm::Ranks &ranks = launch.ranks;
  // One machine, and every number known: no MPI is needed to find the others.
  if (ranks.size == ranks.local_size && ranks.size > 0) return nullptr;
  throw det::Error(det::Code::unsupported,
                   "joining a job launched by " + launch.launcher + ": " + library +
                       " cannot be loaded (" + (reason != nullptr ? reason : "no reason given") +
                       "); install it, or link it and call det_distributed_from_mpi()");
}
