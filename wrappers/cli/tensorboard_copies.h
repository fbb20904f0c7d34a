// Copies of what is in buckets, for as long as TensorBoard shows them.
#pragma once

#include <chrono>

#include "child_program.h"
#include "tensorboard_logdir.h"

namespace det::cli {

// Before TensorBoard starts, so that what is there is shown at once. A signal ends the command.
void fetch_copies(const ChildProgram &board, TensorboardLogdir &logdir);

// What is new, until TensorBoard has ended; passes on signals. A failure is told, and no reason to
// stop.
void follow_copies(const ChildProgram &board, TensorboardLogdir &logdir,
                   std::chrono::milliseconds interval);

}  // namespace det::cli
