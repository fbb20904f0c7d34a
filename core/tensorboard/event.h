// TensorBoard's events, encoded as records of its event files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace det::tensorboard {

// The first record of every file. `wall_time` in seconds since 1970.
void append_version_event(std::string &out, double wall_time);

// Adds to the values of an event.
void append_scalar(std::string &values, std::string_view tag, float number);
void append_values_event(std::string &out, double wall_time, int64_t step, std::string_view values);

// With one value.
void append_scalar_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                         float number);

// Any other value: `content` is one of value.h.
void append_value_event(std::string &out, double wall_time, int64_t step, std::string_view tag,
                        std::string_view content);

}  // namespace det::tensorboard
