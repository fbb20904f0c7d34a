#pragma once

#include "core/engine/dialect.h"

namespace det::engine {

extern const Dialect sqlite_dialect;

}  // namespace det::engine
