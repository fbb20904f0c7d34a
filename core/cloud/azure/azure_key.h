#pragma once

#include <string>

namespace det::cloud {

// Whether a blob can have that name; throws Code::invalid for what Azure refuses, or takes and
// stores under another name. `shown` is for the message.
void check_azure_key(const std::string &name, const std::string &shown);

}  // namespace det::cloud
