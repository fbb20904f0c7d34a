// `det` in the place of the interpreter that a cluster's own scripts call in a container: it runs
// the program of a trial and collects checkpoints, so that the image needs no Python.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/log/log.h"

namespace det::launcher {

// Whether an interpreter's arguments these are ("-m MODULE ...", "SCRIPT.py ..."), in the task of a
// cluster.
bool is_cluster_task(const std::vector<std::string> &arguments);

// Gives the exit status. In a trial it does not return where it succeeds: the experiment's
// entrypoint takes the place of this program. Throws Code::unsupported for other tasks.
int run_cluster_task(const std::vector<std::string> &arguments,
                     const std::shared_ptr<Logger> &logger);

}  // namespace det::launcher
