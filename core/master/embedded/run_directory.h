// What each rank of a run keeps beside the store while it lives: the chief STORE/runs/TRIAL.RUN/,
// the others STORE/runs/TRIAL.RUN.RANK/, each on its own, so that they come and go in any order:
//   owner     locked by the process of the rank
//   run.json  which run and rank this is
//   signal    a FIFO: a byte in it says that the store holds a signal for this run
//   *.spool   its journals
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/base/process.h"
#include "core/base/report.h"

namespace det {

std::filesystem::path run_directory(const std::filesystem::path &store_directory, int64_t trial_id,
                                    int64_t run_id, int rank = 0);
std::filesystem::path owner_file(const std::filesystem::path &run_directory);
std::filesystem::path signal_file(const std::filesystem::path &run_directory);

// Makes the directory of a rank whole before it gets its name, and owns it. The caller holds the
// store's write lock, so that nobody else makes or clears one.
OwnerLock make_run_directory(const std::filesystem::path &store_directory, const JournalKey &rank);

// The run and rank that a directory belongs to. Throws Code::corrupt.
JournalKey read_run_directory(const std::filesystem::path &run_directory);

// The directories of all ranks of all runs, oldest first.
std::vector<std::filesystem::path> list_run_directories(
    const std::filesystem::path &store_directory);

// Removes what a process that died while making or removing a directory left. The caller holds the
// write lock.
void clear_unfinished_directories(const std::filesystem::path &store_directory);

// Also those that are damaged and kept for people to look at.
bool has_journals(const std::filesystem::path &run_directory);

// Takes a directory with journals that belong to no run out of the way; gives its new name.
std::filesystem::path set_aside(const std::filesystem::path &run_directory);

// Removes the directory unless a journal is left in it.
void remove_run_directory(const std::filesystem::path &run_directory);

// Wakes every rank of a run that waits at its FIFO.
void wake_run(const std::filesystem::path &store_directory, int64_t trial_id, int64_t run_id);

}  // namespace det
