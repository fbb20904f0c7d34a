// What fills a configuration besides the defaults that the schema has.
#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/config/experiment/experiment_config.h"

namespace det::config {

// The defaults of a pool's containers, as a configuration.
Json config_of_container_defaults(const Json &defaults);

// Puts the arguments that such defaults have for a batch system before those of `config`: no other
// lists are put together.
void prepend_batch_arguments(const Json &defaults, Json &config);

// "Experiment (calm-red-river)", of random words.
std::string random_experiment_name();

// The time in seconds, as far as 32 bits take it.
uint32_t clock_seed();

}  // namespace det::config
