// What one rank finished of a checkpoint that several write, as a message to the one that commits.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/storage/tree_transfer.h"

namespace det::storage {

using HashedFiles = std::map<std::string, HashedFile>;  // by relative path

std::string pack_share(const HashedFiles &files);

// All shares together; Code::corrupt when one cannot be understood.
HashedFiles unpack_shares(const std::vector<std::string> &shares);

}  // namespace det::storage
