// Files in which Keras keeps models and weights itself.
#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "wrappers/nn/model/model.h"

namespace det::nn {

// Whether a file is one of them by its first bytes: HDF5 (.h5, .weights.h5) or a zip (.keras).
bool is_keras_file(const std::filesystem::path &path);

// The description of a whole model, as Model() takes it. Throws Code::not_found, Code::corrupt,
// Code::invalid for a file of weights alone, and Code::unsupported if this library was built
// without libhdf5 and libzip.
Json read_keras_model(const std::filesystem::path &path);

// The weights of a whole model, or of a file of them. They belong to the layers of the same names,
// or if those are others, to the layers in their order. The model is changed only where all of them
// fit: else as read_keras_model(), and Code::invalid.
void read_keras_weights(Model &model, const std::filesystem::path &path);

}  // namespace det::nn
