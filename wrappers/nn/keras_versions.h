// Models as other releases of Keras write them.
#pragma once

#include "core/base/json_fwd.h"

namespace det::nn {

// As Keras 2.15 has it, from what it, Keras 2.0 to 2.2 (a Sequential whose configuration is the
// list of its layers) or Keras 3 writes. Throws Code::unsupported for what only Keras 3 has.
Json as_keras_2(const Json &described);

}  // namespace det::nn
