// The variables and the command a trial is started with.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace det::launcher {

using Variables = std::map<std::string, std::string>;

// Those of this process, without what it is itself: a trial must not take itself for a rank of a
// job that this process is part of (one of Slurm, say), nor for the trial that this process is.
Variables inherited_variables();

// As execve(2) takes them.
std::vector<std::string> assignments(const Variables &variables);

// `command` as `ranks` processes of which each ends with the others, and what else mpirun needs in
// the environment. Throws Code::not_found, saying what to install.
std::vector<std::string> through_mpirun(const std::vector<std::string> &command, int ranks,
                                        Variables &variables);

// Where commands are looked for.
std::string search_path(const Variables &variables);

}  // namespace det::launcher
