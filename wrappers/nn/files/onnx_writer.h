// Models for serving, as ONNX files.
#pragma once

#include <filesystem>

#include "wrappers/nn/model/model.h"

namespace det::nn {

// What predict_on_batch() computes, for batches of any size where the model does not fix it
// (operator set 13), in a file that replaces what is there. Throws Code::unsupported, naming the
// layer, for what cannot be said in ONNX; Code::state where the model has no weights yet.
void write_onnx(Model &model, const std::filesystem::path &path);

}  // namespace det::nn
