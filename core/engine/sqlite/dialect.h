#pragma once

#include "core/engine/dialect.h"

namespace det {

extern const Dialect sqlite_dialect;

}  // namespace det
