#include "core/storage/cloud_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "core/base/error.h"
#include "core/base/json.h"
#include "core/storage/cloud_entry.h"

namespace det::storage {

namespace {

constexpr const char *library = "libdetcore-cloud.so.0";

[[noreturn]] void throw_unusable(const std::string &why, const std::string &remedy) {
  throw Error(Code::unsupported, "opening a bucket: " + why + "; " + remedy);
}

// It stays: its threads and thread-local objects do.
void *open_library() {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  Dl_info here{};
  link_map *map = nullptr;
  const bool found = dladdr1(reinterpret_cast<const void *>(&open_bucket), &here,
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

const CloudEntry &entry() {
  void *const handle = open_library();
  if (handle == nullptr) {
    const char *const reason = dlerror();
    throw_unusable(std::string(library) + " cannot be loaded (" +
                       (reason != nullptr ? reason : "no reason given") + ")",
                   "install it where libdetcore.so.0 is, from the same package");
  }
  const auto *const found = static_cast<const CloudEntry *>(dlsym(handle, cloud_entry_name));
  if (found == nullptr || std::strcmp(found->build, cloud_build) != 0)
    throw_unusable(std::string(library) + " is of another build than this library",
                   "install both from the same package");
  return *found;
}

}  // namespace

bool is_cloud_library_there() noexcept try {
  entry();
  return true;
} catch (const std::exception &) {
  return false;
}

std::unique_ptr<Storage> open_bucket(const Json &config, std::shared_ptr<Logger> logger) {
  return entry().open(config, std::move(logger));
}

}  // namespace det::storage
