// What the value of an event can be besides a scalar: the fields that follow its tag.
#pragma once

#include <string>
#include <string_view>

#include "core/tensorboard/histogram.h"
#include "core/tensorboard/image.h"

namespace det::tensorboard {

std::string histogram_value(const Histogram &histogram);
std::string text_value(std::string_view text);
std::string image_value(const Image &image);

// What a plugin of TensorBoard keeps under a tag of its own.
std::string plugin_value(std::string_view plugin, std::string_view data);

}  // namespace det::tensorboard
