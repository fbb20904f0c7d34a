// What is done with whole checkpoints, in whatever storage.
#pragma once

#include <string>

#include "core/storage/storage.h"

namespace det::storage {

// Stores the contents of a directory under a new id, which it gives back; nobody is told of it.
// `metadata`, unless empty, becomes the checkpoint's metadata.json.
std::string store_directory(Storage &storage, const std::filesystem::path &directory,
                            const Selector &selector, const std::string &metadata,
                            Progress *progress = nullptr);

// Throws Code::corrupt where a file is not what was stored, Code::unsupported where nobody can
// tell.
void verify_checkpoint(Storage &storage, const std::string &id, Progress *progress = nullptr);

// Stores it in `to` as well, under the same id.
void copy_checkpoint(Storage &from, const std::string &id, Storage &to,
                     Progress *progress = nullptr);

}  // namespace det::storage
