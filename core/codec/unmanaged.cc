#include "core/codec/unmanaged.h"

namespace det::codec {

namespace {

// What a request leaves out is false; our own default is true.
void or_false(Fields &f, const char *name, bool &value) {
  if (f.message().is_read) value = false;
  f.or_default(name, value);
}

}  // namespace

void CreateExperiment::fields(Fields &f) {
  f("config", config);
  or_false(f, "unmanaged", unmanaged);
}

void CreateUnmanagedTrial::fields(Fields &f) {
  f("experimentId", experiment_id);
  f.object("hparams", hparams);
  or_false(f, "unmanaged", unmanaged);
}

void StartTrial::fields(Fields &f) {
  f.in_path("trial", trial_id);
  f.repeat("trialId", trial_id);
  or_false(f, "resume", resume);
}

}  // namespace det::codec
