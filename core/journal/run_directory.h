// What each rank of a run keeps on this machine while it lives: the chief HOME/runs/TRIAL.RUN/, the
// others HOME/runs/TRIAL.RUN.RANK/, each on its own, so that they come and go in any order. HOME is
// the directory of a store, or of what is kept for a master over HTTP.
//   owner     locked by the process of the rank
//   run.json  which run and rank this is
//   signal    with a store, a FIFO: a byte in it says that the store holds a signal for this run
//   *.spool   its journals
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/base/process/process.h"
#include "core/base/report.h"

namespace det::journal {

std::filesystem::path run_directory(const std::filesystem::path &home, int64_t trial_id,
                                    int64_t run_id, int rank = 0);
std::filesystem::path owner_file(const std::filesystem::path &run_directory);
std::filesystem::path signal_file(const std::filesystem::path &run_directory);
// A file that keeps the directory as long as it is there, as a journal does.
std::filesystem::path kept_file(const std::filesystem::path &run_directory, std::string_view name,
                                std::string_view extension);

struct RunDirectoryContent {
  Json about = Json::object();  // more for run.json
  bool with_signal = false;
  // Whether a run may have several processes for one rank, one after another: what the one before
  // left is then kept beside, else it is that of a run that the store has lost.
  bool has_predecessors = false;
};

// Makes the directory of a rank whole before it gets its name, and owns it. Throws Code::state
// while another process owns it. The caller holds the write lock of a store, if there is one, so
// that nobody else makes or clears one.
OwnerLock make_run_directory(const std::filesystem::path &home, const JournalKey &rank,
                             const RunDirectoryContent &content);

// After this a power cut takes neither the directory nor what says whose it is.
void sync_run_directory(const std::filesystem::path &run_directory);

// The run and rank that a directory belongs to. Throws Code::corrupt.
JournalKey read_run_directory(const std::filesystem::path &run_directory);
Json read_about(const std::filesystem::path &run_directory);  // all of run.json

// The directories of all ranks of all runs, oldest first.
std::vector<std::filesystem::path> list_run_directories(const std::filesystem::path &home);

// Removes what a process that died while making or removing a directory left.
void clear_unfinished_directories(const std::filesystem::path &home);

// Journals with reports that were not delivered.
bool has_undelivered(const std::filesystem::path &run_directory);

// Also what is kept beside them for people to look at, or for later: damaged journals, and what
// kept_file() names.
bool has_journals(const std::filesystem::path &run_directory);

// Takes a directory with journals that belong to no run out of the way; gives its new name.
std::filesystem::path set_aside(const std::filesystem::path &run_directory);

// Removes the directory unless a journal is left in it.
void remove_run_directory(const std::filesystem::path &run_directory);

// Removes it with the journals in it. Its owner is gone.
void discard_run_directory(const std::filesystem::path &run_directory);

// Wakes every rank of a run that waits at its FIFO.
void wake_ranks(const std::filesystem::path &home, int64_t trial_id, int64_t run_id);

}  // namespace det::journal
