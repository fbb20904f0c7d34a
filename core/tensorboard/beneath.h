// Directories and files below one that is open, reached without following a symbolic link: in a
// tree that others may write to, a link must not lead a file elsewhere.
#pragma once

#include <filesystem>

#include "core/base/file.h"

namespace det::tensorboard {

// Throws Code::invalid unless `path` is relative, names something, and has no "..". `what` begins
// the message.
void check_beneath(const std::filesystem::path &path, const std::string &what);

// Opens `path` below `root`, making what is missing: whoever shares the root may write there too.
// `name` is the root's, for errors.
Fd make_directories_beneath(const Fd &root, const std::filesystem::path &path,
                            const std::filesystem::path &name);

// Copies an open file, contents and permissions, to `path` below `root`. Readers see the old file
// or the new.
void copy_beneath(const Fd &source, const Fd &root, const std::filesystem::path &path,
                  const std::filesystem::path &name);

}  // namespace det::tensorboard
