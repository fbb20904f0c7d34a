#include "core/codec/run.h"

#include <array>
#include <cmath>

namespace det::codec {

std::span<const char *const> wire_names(EarlyExit) {
  static constexpr std::array names{"EXITED_REASON_UNSPECIFIED", "EXITED_REASON_INVALID_HP",
                                    "EXITED_REASON_INIT_INVALID_HP"};
  return names;
}

void ReportProgress::fields(Fields &f) {
  f.in_path("trial", trial_id);
  if (f.message().version >= WireVersion::v0_38) {
    f("progress", progress);
    bool is_raw = true;
    f.repeat("is_raw", is_raw);
  } else {
    f.whole("progress", progress);
  }
  if (!std::isfinite(progress)) f.refuse("progress", "must be a finite number");
}

}  // namespace det::codec
