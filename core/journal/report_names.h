#pragma once

#include <cstddef>
#include <cstdint>

#include <string_view>

#include "core/journal/record.h"

namespace det::journal {

// Checks the names of one report, 1 to 255 bytes of UTF-8 and all different, and gives their sizes.
// Throws Code::invalid. Allocates nothing for a few dozen values.
void check_names(const NamedValue *values, size_t count, uint8_t *sizes);

// The same for the name of a group, which has no '.' either.
void check_group(std::string_view group);

}  // namespace det::journal
