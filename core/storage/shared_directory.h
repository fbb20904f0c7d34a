// Directories in which several users may keep things beside each other, and what may be done there.
#pragma once

#include <filesystem>

#include "core/base/file.h"

namespace det::storage {

// Who may write into a new directory besides those whom the umask lets.
enum class Sharing {
  group,    // the group of the parent, where it may write there
  storage,  // and everybody, where everybody may write there: each what is his own (sticky)
};

// Opens the directory `leaf` of `parent`, made where it is absent; never through a link. `shown` is
// its name for errors.
Fd make_directory_at(int parent, const std::string &leaf, Sharing sharing,
                     const std::filesystem::path &shown);

// mkdir -p for the base directory of a storage. What it makes is durable.
void make_shared_directories(const std::filesystem::path &path);

// Takes from the directory `fd`, made by an earlier release, what its parent does not give: the
// write permission of everybody, or everybody's right to move what is another's.
void tighten_directory(int fd, int parent);

// rm -r of `leaf` in `parent`, following no link. Absent is fine; tries again while a network file
// system keeps names of open files. `shown` is its name for errors.
void remove_beneath(int parent, const std::string &leaf, const std::filesystem::path &shown);

// The same for a path.
void remove_tree(const std::filesystem::path &path);

}  // namespace det::storage
