// Small objects as text.
#pragma once

#include <optional>
#include <string>

#include "core/cloud/object_store.h"

namespace det::cloud {

// Nothing where it is not there. Code::corrupt where it is longer than any that we wrote.
std::optional<std::string> read_object(ObjectStore &store, const std::string &key);

void write_object(ObjectStore &store, const std::string &key, std::string text,
                  bool only_new = false);

}  // namespace det::cloud
