// What becomes of a configuration on its way to a complete one. All of it leaves alone what does
// not fit the schema.
#pragma once

#include "core/config/experiment/schema.h"

namespace det::config {

// With every shorthand written out.
Json decode_config(const ConfigSchema &schema, Json value);

// `first` has priority; `second` fills what it leaves out.
Json merge_config(const ConfigSchema &schema, const Json &first, const Json &second);

// As merge_config(), of two objects, key by key.
Json merge_objects(const ConfigSchema &schema, const Json &first, const Json &second);

// With every default filled in, in the order of the schema.
Json fill_config(const ConfigSchema &schema, const Json &value);

// For ConfigSchema::merge: nothing of the second is taken.
Json keep_first(const ConfigSchema &schema, const Json &first, const Json &second);

// For ConfigSchema::merge: the first list, then what the second has under a `key` not seen yet.
Json append_by_key(const Json &first, const Json &second, const std::string &key);

}  // namespace det::config
