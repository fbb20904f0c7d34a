// A callback that a program has as functions of C.
#pragma once

#include "wrappers/keras/program_trial.h"

// `context` outlives it.
std::shared_ptr<keras::Callback> program_callback(const det_keras_callback *given,
                                                  det_keras_context &context);
