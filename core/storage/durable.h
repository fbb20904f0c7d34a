// Brings a finished tree to the disk before it is shown to anybody.
#pragma once

#include "core/storage/tree.h"

namespace det {

// After this, a power cut takes nothing of `root` and its entries. `root` must have been opened
// before the writing began, so that errors of writing in the background are seen.
void sync_tree(const Tree &root, const std::vector<TreeEntry> &entries);

}  // namespace det
