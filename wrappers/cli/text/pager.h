// Long output goes through a pager, as far as somebody reads it.
#pragma once

#include <sys/types.h>

#include "core/base/file.h"
#include "wrappers/cli/text/terminal.h"

namespace det::cli {

// While one lives, standard output goes to $PAGER, else to `less -FRX` where there is one. Does
// nothing unless `wanted` and standard output is a terminal with a cursor. A pager that is left
// early is to print() as any reader that has gone.
class Pager {
 public:
  Pager(const Terminal &terminal, bool wanted);
  Pager(const Pager &) = delete;
  Pager &operator=(const Pager &) = delete;
  ~Pager();  // waits until the pager has been left

 private:
  pid_t process_ = 0;  // 0: there is none
  Fd before_;          // where standard output went
};

}  // namespace det::cli
