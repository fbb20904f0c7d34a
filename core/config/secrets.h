// Which fields of an experiment's configuration are secret, and how to keep them out of what is
// recorded and shown.
#pragma once

#include <string>

#include "core/base/json.h"

namespace det::config {

// In place of each secret is "********" afterwards; what is null or empty stays. Gives the secrets
// in objects like those that they were in, or an empty object.
Json take_secrets(Json &config);

// Undoes take_secrets(). A secret that is not among them goes as a whole, so that whoever reads the
// configuration looks for one elsewhere, such as in the environment.
void put_secrets(Json &config, const Json &secrets);

// For display.
Json with_masked_secrets(Json config);

// The same for its `checkpoint_storage` alone.
Json storage_with_masked_secrets(Json storage);

// The text that a configuration is from, such as a file. Where a secret is in a form that cannot be
// masked there, in several lines or with escapes, it is the masked configuration as JSON instead.
std::string with_masked_secrets(const std::string &text, Json config);

}  // namespace det::config
