// Batches into the arrays of a plan.
#pragma once

#include <string>
#include <string_view>

#include "wrappers/nn/arrays/array.h"

namespace det::nn {

// Copies all elements, of F32, F64, I8, U8, I16, I32, I64 or BOOL into an array of F32 or I32 with
// as many. `what`, and `name` if there is one, tell of the source in errors: Code::invalid where
// their shapes do not fit, other than by sizes of 1 at the end; Code::unsupported for other element
// types.
void copy_elements(const Array &from, const Array &to, std::string_view what,
                   std::string_view name = {});

// An element as a text, in errors: "3", "0.5" or "NaN".
std::string element_text(const Array &array, size_t index);

}  // namespace det::nn
