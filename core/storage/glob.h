// Which resources of a checkpoint a list of globs takes away.
#pragma once

#include <string>
#include <vector>

#include "core/storage/storage.h"

namespace det::storage {

struct Matches {
  std::vector<std::string>
      removed;  // what matched, without trailing '/' and nothing inside another
  Resources remaining;
};

// Shell globs relative to the checkpoint; a component "**" stands for any number of directories,
// and '*' for no name that begins with a dot. Globs that lead outside match nothing, with a
// warning.
Matches match_globs(const Resources &resources, const std::vector<std::string> &globs,
                    Logger &logger);

}  // namespace det::storage
