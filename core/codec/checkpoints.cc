#include "core/codec/checkpoints.h"

#include <array>

namespace det::codec {

std::span<const char *const> wire_names(CheckpointState) {
  static constexpr std::array names{"STATE_UNSPECIFIED", "STATE_ACTIVE",
                                    "STATE_COMPLETED",   "STATE_ERROR",
                                    "STATE_DELETED",     "STATE_PARTIALLY_DELETED"};
  return names;
}

void ReportCheckpoint::fields(Fields &f) {
  const auto check = [&] {
    const auto steps = checkpoint.metadata.find("steps_completed");
    if (steps != checkpoint.metadata.end() && !steps->is_number_integer())
      f.refuse("metadata.steps_completed", "must be an integer");
    return steps != checkpoint.metadata.end();
  };
  const bool is_read = f.message().is_read;
  if (!is_read && !check()) f.refuse("metadata.steps_completed", "is missing");
  checkpoint.fields(f);
  if (is_read) check();
}

void CheckpointRemains::fields(Fields &f) {
  f("uuid", uuid);
  struct Wrapped {
    Sizes sizes;
    void fields(Fields &inner) { inner.or_default("resources", sizes); }
  };
  std::optional<Wrapped> wrapped;
  if (resources) wrapped = Wrapped{*resources};
  f("resources", wrapped);
  if (wrapped) resources = std::move(wrapped->sizes);
}

}  // namespace det::codec
