// The tools of the C face and of the engine in front of the headers of C++, whose names are those
// of users: behind them det::Error, det::Json and det::nn would be two things each.
#pragma once

#include <det/keras.h>

#include "capi/guard.h"
#include "core/base/json.h"
#include "wrappers/nn/capi/batch_argument.h"
#include "wrappers/nn/keras_fields.h"
#include "wrappers/nn/named_config.h"
#include "wrappers/nn/near_name.h"

namespace engine = det::nn;
using CoreError = det::Error;
using CoreCode = det::Code;
using CoreJson = det::Json;

#include <det/keras.hpp>

namespace keras = det::v1::keras;
