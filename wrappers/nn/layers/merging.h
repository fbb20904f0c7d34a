// Values joined to one.
#pragma once

#include "wrappers/nn/program/program_builder.h"

namespace det::nn {

// x op y of shapes that may differ as below.
Value merged(ProgramBuilder &builder, Arithmetic arithmetic, Value x, Value y);

// A mask of so many of its first axes: 1 where any of what is behind them counts.
Value any_of(ProgramBuilder &builder, Value mask, size_t axes);

}  // namespace det::nn
