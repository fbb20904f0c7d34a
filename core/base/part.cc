#include "core/base/part.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <filesystem>

#include "core/base/error.h"

namespace det {

namespace {

void *open_library(const char *library) {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  Dl_info here{};
  link_map *map = nullptr;
  const bool found = dladdr1(reinterpret_cast<const void *>(&open_part), &here,
                             reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) != 0;
  // In a program that is the core itself, such as `det`, the path is what it was called by: its
  // run path says where the library is.
  if (found && map->l_name[0] != '\0') {
    const auto folder = std::filesystem::path(here.dli_fname).parent_path();
    // Where it is installed; and where it lies in a build folder and in the Python package.
    for (const auto &file : {folder / "detcore" / library, folder / library}) {
      if (void *handle = dlopen(file.c_str(), flags)) return handle;
      // What is there and cannot be loaded is the reason.
      if (std::filesystem::exists(file)) return nullptr;
    }
  }
  return dlopen(library, flags);
}

}  // namespace

const void *open_part(const Part &part) {
  const auto refuse = [&](const std::string &why, const std::string &remedy) {
    throw Error(Code::unsupported, part.used_for + ": " + part.library + " " + why + "; " + remedy);
  };
  void *const handle = open_library(part.library);
  if (handle == nullptr) {
    const char *const reason = dlerror();
    refuse(
        std::string("cannot be loaded (") + (reason != nullptr ? reason : "no reason given") + ")",
        "install it where libdetcore.so.0 is, from the same package" + part.needs);
  }
  const void *const found = dlsym(handle, part.entry);
  if (found == nullptr || std::strcmp(*static_cast<const char *const *>(found), part.build) != 0)
    refuse("is of another build than this library", "install both from the same package");
  return found;
}

}  // namespace det
