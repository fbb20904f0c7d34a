#pragma once

#include <string>

#include "core/base/json_fwd.h"
#include "core/codec/version.h"

namespace det::master {

// The configuration of an experiment that no cluster schedules, with all that masters of this
// version want in it. `config`: the caller's, an object or null; `storage` may be null. Throws
// Code::invalid.
Json unmanaged_config(const Json &config, const std::string &name, const Json &storage,
                      codec::WireVersion version);

// `storage`, an object or null, without what only we know: masters refuse keys that they do not.
Json storage_for_master(Json storage);

}  // namespace det::master
