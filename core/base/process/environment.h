#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace det {

// An environment variable; empty when absent.
std::string environment_variable(const char *name);

// As an integer; nothing when absent or empty. Throws Code::invalid, naming the variable.
std::optional<int64_t> environment_integer(const char *name);

}  // namespace det
