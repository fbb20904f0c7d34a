#include "core/base/thread.h"

#include <string>

#include "core/base/error.h"

namespace det {

void detail::refuse_thread(const char *name, int os_errno) {
  throw Error(
      Code::full,
      std::string("starting the thread '") + name + "': " + errno_text(os_errno) +
          "; raise the limit on processes and threads (ulimit -u, or that of the container)",
      os_errno);
}

}  // namespace det
