#include "core/storage/glob.h"

#include <fnmatch.h>

#include <algorithm>
#include <span>

namespace det::storage {

namespace {

using Components = std::vector<std::string>;

Components split(const std::string &text) {
  Components components;
  for (size_t begin = 0; begin < text.size();) {
    const size_t slash = std::min(text.find('/', begin), text.size());
    const std::string component = text.substr(begin, slash - begin);
    if (!component.empty() && component != ".") components.push_back(component);
    begin = slash + 1;
  }
  return components;
}

bool matches(std::span<const std::string> glob, std::span<const std::string> path) {
  if (glob.empty()) return path.empty();
  if (glob[0] == "**") {
    if (matches(glob.subspan(1), path)) return true;
    return !path.empty() && path[0][0] != '.' && matches(glob, path.subspan(1));
  }
  return !path.empty() &&
         fnmatch(glob[0].c_str(), path[0].c_str(), FNM_PERIOD | FNM_NOESCAPE) == 0 &&
         matches(glob.subspan(1), path.subspan(1));
}

struct Glob {
  Components components;
  bool directories_only;
};

std::vector<Glob> usable(const std::vector<std::string> &globs, Logger &logger) {
  std::vector<Glob> result;
  for (const std::string &glob : globs) {
    Components components = split(glob);
    if (components.empty() || glob[0] == '/' || std::ranges::count(components, "..") > 0)
      logger.warning("removing files of a checkpoint: the glob '" + glob +
                     "' leads out of it and is skipped");
    else result.push_back({std::move(components), glob.back() == '/'});
  }
  return result;
}

}  // namespace

Matches match_globs(const Resources &resources, const std::vector<std::string> &globs,
                    Logger &logger) {
  const std::vector<Glob> usable_globs = usable(globs, logger);
  Matches result;
  // In the order of Resources a directory comes right before what it holds.
  std::string removed_directory;
  for (const auto &[path, size] : resources) {
    if (!removed_directory.empty() && path.starts_with(removed_directory)) continue;
    const bool directory = path.back() == '/';
    const Components components = split(path);
    const bool taken = std::ranges::any_of(usable_globs, [&](const Glob &glob) {
      return (directory || !glob.directories_only) && matches(glob.components, components);
    });
    if (!taken) {
      result.remaining.emplace(path, size);
      continue;
    }
    result.removed.push_back(directory ? path.substr(0, path.size() - 1) : path);
    if (directory) removed_directory = path;
  }
  return result;
}

}  // namespace det::storage
