// In which type a layer computes: the "dtype" of its configuration, which Keras calls a policy.
#pragma once

#include "wrappers/nn/arrays/array.h"
#include "wrappers/nn/configuration/keras_fields.h"

namespace det::nn {

// A name, or {"class_name": "Policy", "config": {"name": ...}}: "mixed_bfloat16" and
// "mixed_float16" are Dtype::bf16 and Dtype::f16, all others that there are Dtype::f32. Weights are
// float32 under each of them. Throws Code::unsupported for types of weights that are not, and
// Code::invalid, with the nearest name, for what is no policy.
Dtype read_policy(Fields &fields);

// The configuration of a layer within another one, or within a model: with the policy of the outer
// one where it has none.
Json with_policy_of(Fields &outer, Json config);

}  // namespace det::nn
