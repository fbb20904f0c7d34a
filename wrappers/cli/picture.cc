#include "picture.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <exception>
#include <filesystem>
#include <system_error>

#include "exit_code.h"

namespace det::cli {

namespace {

constexpr const char *library = "libdetcore-picture.so.0";

std::string reason() {
  const char *const text = dlerror();
  return text ? text : "no reason given";
}

// It stays: the libraries that it needs do not like to leave.
void *open_library(std::string &why) {
  constexpr int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  std::error_code unknown;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  // Where it is installed, and where it lies in a build folder.
  for (const auto &file : {folder / DET_PICTURE_FOLDER / library, folder / "picture" / library}) {
    if (!std::filesystem::exists(file, unknown)) continue;
    void *handle = dlopen(file.c_str(), flags);
    if (!handle) why = reason() + "; install Cairo and Pango (libpangocairo-1.0-0)";
    return handle;
  }
  why = std::string("this det came without ") + library +
        ", as that of the Python package does; plot with matplotlib (detcore.client has the "
        "values), install det by its own package, or build it where libpango1.0-dev is";
  return nullptr;
}

}  // namespace

std::optional<PictureFormat> picture_format(const std::string &name) {
  std::string suffix = name.substr(name.find_last_of('.') + 1);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (suffix == "svg") return PictureFormat::svg;
  if (suffix == "pdf") return PictureFormat::pdf;
  if (suffix == "png") return PictureFormat::png;
  return std::nullopt;
}

const PictureEntry *find_pictures(std::string &why) {
  void *const handle = open_library(why);
  if (!handle) return nullptr;
  const auto *const entry = static_cast<const PictureEntry *>(dlsym(handle, picture_entry_name));
  if (entry && std::strcmp(entry->build, picture_build) == 0) return entry;
  why = std::string(library) + " is of another build than det";
  return nullptr;
}

std::string draw_picture(const Figure &figure, PictureFormat format, const PictureSize &size) {
  std::string why;
  const PictureEntry *const pictures = find_pictures(why);
  if (!pictures)
    throw Failure(ExitCode::unsupported,
                  "drawing a picture: " + why + "; without -o the plot is drawn as text");
  if (format == PictureFormat::sixel && !pictures->with_sixel)
    throw Failure(ExitCode::unsupported,
                  "drawing in Sixel: det was built without libsixel; build it where libsixel-dev "
                  "is, or leave --picture=sixel out");
  try {
    return pictures->draw(figure, format, size);
  } catch (const std::exception &error) {
    throw Failure(ExitCode::internal, error.what());
  }
}

}  // namespace det::cli
