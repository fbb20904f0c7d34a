// What a model is trained to be and how far its training is, in files.
#pragma once

#include <filesystem>

#include "wrappers/nn/model/model.h"

namespace det::nn {

// All weights under their names, in a safetensors file that replaces what is there. Throws
// Code::state where the model has no weights yet.
void save_weights(const Model &model, const std::filesystem::path &path);

// The other way. The file may be anybody's: F64, F16 and BF16 become F32. Nothing is changed where
// it throws: Code::not_found; Code::corrupt; Code::invalid where a weight is missing, too much or
// of another shape.
void load_weights(Model &model, const std::filesystem::path &path);

// What training needs beside the weights to go on as if it had not stopped, to the bit: the state
// of the optimizer, its learning rate, the counts of steps and the seed. Throws Code::state where
// the model is not compiled.
void save_training_state(const Model &model, const std::filesystem::path &path);

// The other way, into a model that is compiled with the same optimizer. As load_weights().
void load_training_state(Model &model, const std::filesystem::path &path);

}  // namespace det::nn
