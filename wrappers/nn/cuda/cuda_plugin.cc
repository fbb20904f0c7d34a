#include "wrappers/nn/cuda/cuda_plugin.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>

#include "core/base/error.h"
#include "core/base/process/environment.h"

namespace det::nn {

namespace {

constexpr const char *cuda_library = "libdetnn-cuda.so.0";
constexpr const char *cuda_library_variable = "DETNN_CUDA_LIBRARY";

// Memory that it gave may be freed at the very end: it stays.
constexpr int cuda_library_flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

[[noreturn]] void throw_without_cuda(const std::string &why, const std::string &remedy) {
  throw Error(Code::unsupported, "opening the back end 'cuda': " + why + "; " + remedy +
                                     ", or take 'onednn' or 'reference', which need no GPU");
}

void *open_cuda_library() {
  const std::string named = environment_variable(cuda_library_variable);
  if (!named.empty()) return dlopen(named.c_str(), cuda_library_flags);
  Dl_info here{};
  if (dladdr(reinterpret_cast<const void *>(&open_cuda_backend), &here) != 0) {
    const auto beside = std::filesystem::path(here.dli_fname).parent_path() / cuda_library;
    // What is there and cannot be loaded is the reason.
    if (std::filesystem::exists(beside)) return dlopen(beside.c_str(), cuda_library_flags);
  }
  return dlopen(cuda_library, cuda_library_flags);
}

}  // namespace

std::shared_ptr<Backend> open_cuda_backend() {
  void *const library = open_cuda_library();
  if (library == nullptr) {
    const char *const reason = dlerror();
    throw_without_cuda(
        std::string(cuda_library) + " cannot be loaded (" +
            (reason != nullptr ? reason : "no reason given") + ")",
        std::string(
            "install it beside libdetnn.so.0 with the libraries of CUDA 13 and cuDNN 9, name "
            "it in ") +
            cuda_library_variable);
  }
  const auto *const plugin = static_cast<const CudaPlugin *>(dlsym(library, cuda_plugin_name));
  if (plugin == nullptr || std::strcmp(plugin->build, cuda_plugin_build) != 0)
    throw_without_cuda(std::string(cuda_library) + " is of " +
                           (plugin == nullptr ? "another kind"
                                              : "the build '" + std::string(plugin->build) + "'") +
                           ", and this library of the build '" + cuda_plugin_build + "'",
                       "install both from the same package");
  return plugin->open();
}

}  // namespace det::nn
