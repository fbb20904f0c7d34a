// What the store knows of a checkpoint.
#pragma once

#include "core/master/embedded/sqlite.h"
#include "core/master/master.h"

namespace det {

// Records a checkpoint that is complete in its storage; the same one again changes nothing. The
// caller holds a transaction. Throws Code::invalid (steps_completed), Code::conflict (another
// checkpoint has this id).
void record_checkpoint(Database &store, const RunInfo &run, const CheckpointReport &report);

}  // namespace det
