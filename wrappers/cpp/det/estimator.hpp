// Trains trials as TensorFlow's estimators do, from feature columns or your own model_fn. Follows
// determined.estimator. Needs exceptions, the library nlohmann-json, and detnn beside detcore.
#pragma once

#include <det/estimator/categorical_column.hpp>
#include <det/estimator/controller.hpp>
#include <det/estimator/native.hpp>
#include <det/estimator/premade.hpp>
#include <det/estimator/reducer.hpp>
#include <det/trials/registry.hpp>
