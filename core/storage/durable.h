// Brings a finished tree to the disk before it is shown to anybody.
#pragma once

#include "core/storage/tree.h"

namespace det::storage {

// After this, a power cut takes nothing of these entries below `root`, which must have been opened
// before the writing began, so that errors of writing in the background are seen.
void sync_entries(const Tree &root, const std::vector<TreeEntry> &entries);

// The same for the entries, the manifest and `root` itself.
void sync_tree(const Tree &root, const std::vector<TreeEntry> &entries);

}  // namespace det::storage
