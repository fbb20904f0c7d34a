// What is said of a trial as JSON.
#pragma once

#include "wrappers/keras/both_faces.h"

keras::FitOptions fit_options_of(const CoreJson &given);

// One of the callbacks that are there already.
std::shared_ptr<keras::Callback> known_callback(const CoreJson &given);
