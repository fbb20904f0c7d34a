// Callbacks that are there already, as Keras has them.
#pragma once

#include <memory>

#include "wrappers/keras/callbacks/callback.h"

namespace det::keras {

// By its name, or {"class_name": ..., "config": {...}}. Throws Code::invalid, with the nearest of
// the names that there are.
std::shared_ptr<Callback> known_callback(const Json &given);

// A line for every tenth of a workload, and of a validation after the first.
std::shared_ptr<Callback> progress_printer();

}  // namespace det::keras
