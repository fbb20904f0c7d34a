#include "tests/nn/suite/back_ends.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/base/error.h"
#include "tests/cmocka.h"
#include "wrappers/nn/backend.h"

namespace det::test {

std::vector<std::string> compared_back_ends() {
  std::vector<std::string> wanted{"reference", "onednn"};
#ifdef EMULATED_CUDA_LIBRARY
  wanted.emplace_back(emulated_cuda());
#endif
  std::vector<std::string> opened;
  for (const std::string &name : wanted) {
    try {
      nn::open_backend(name);
      opened.push_back(name);
    } catch (const Error &e) {
      print_message("# SKIP the back end %s: %s\n", name.c_str(), e.what());
    }
  }
  return opened;
}

#ifdef EMULATED_CUDA_LIBRARY

const char *emulated_cuda() {
  setenv("DETNN_CUDA_LIBRARY", EMULATED_CUDA_LIBRARY, 1);
  return "cuda";
}

emulated::Counts counts_of_emulated_cuda() {
  void *const library = dlopen(EMULATED_CUDA_LIBRARY, RTLD_LAZY);
  assert_non_null(library);
  void *const function = dlsym(library, "emulated_cuda_counts");
  assert_non_null(function);
  emulated::Counts counts;
  reinterpret_cast<decltype(&emulated_cuda_counts)>(function)(&counts);
  return counts;
}

#endif

}  // namespace det::test
