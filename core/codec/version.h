// The generations of the wire. Masters between two of them speak the older one's form.
#pragma once

#include <string_view>

namespace det::codec {

enum class WireVersion { v0_19, v0_33, v0_38 };  // as recorded from 0.19.10, 0.33.0 and 0.38.1

// `master` is the version text of the master's info answer. A newer one than we know is taken as
// the newest known, an older one as the oldest; so is one that is no number as the newest.
WireVersion wire_version(std::string_view master);

const char *name_of(WireVersion version);  // "0.38"

}  // namespace det::codec
