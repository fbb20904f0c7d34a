// Libraries of this package that are opened when they are first needed. What they need in turn
// would slow the start of every program down.
#pragma once

#include <string>

namespace det {

struct Part {
  std::string used_for;  // "opening a bucket"
  const char *library;   // the name of its file
  const char *entry;     // the name of its symbol, an object that begins with the name of its build
  const char *build;     // which must be this one
  std::string needs;     // what else to install, where it cannot be loaded: " and libcurl"
};

// The object. Throws Code::unsupported where the library is missing, cannot be loaded or is of
// another build. The library stays open: its threads and thread-local objects do.
const void *open_part(const Part &part);

}  // namespace det
