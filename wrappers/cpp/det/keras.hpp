// Trains trials as Keras does. Follows determined.keras. Needs exceptions, the library
// nlohmann-json, and detnn beside detcore.
#pragma once

#include <det/keras/controller.hpp>
#include <det/trials/registry.hpp>
