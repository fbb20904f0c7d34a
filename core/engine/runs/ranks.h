// The processes of a run. Rank 0, the chief, starts it and ends it; what became of the others
// counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/process/process.h"
#include "core/engine/database.h"
#include "core/engine/runs/lifecycle.h"

namespace det::engine {

// Where a rank runs.
struct RankProcess {
  int node = 0;  // index of its machine in the job
  ProcessIdentity process;
};

struct RankRecord {
  int rank = 0;
  RankProcess place;
  std::optional<int64_t> ended;
  std::optional<std::string> exit;  // none while it runs, as far as the store knows
};

// The name of a rank's journal in the store.
std::string rank_journal_id(const std::string &journal_id_of_run, int rank);

// In their order; a run of one process has one.
std::vector<RankRecord> ranks_of(Database &store, int64_t trial_id, int64_t run_id);

// The following write; the caller holds a transaction.
// Only for runs of several: the start of a run of one has no time for another row.
void record_rank(Database &store, int64_t trial_id, int64_t run_id, int rank,
                 const RankProcess &place);

// Records how a rank ended; nothing when it had. An error that comes when the run had ended well
// makes the run an error too.
void record_rank_end(Database &store, int64_t trial_id, int64_t run_id, int rank, RunExit how);

// Finds ranks of this machine that died without a word, and records it. Gives the numbers of all
// that died, also those recorded before.
std::vector<int> record_lost_ranks(Database &store, const std::filesystem::path &store_directory,
                                   int64_t trial_id, int64_t run_id);

// How the run ended when its chief ended well: as the worst of its ranks did.
RunExit worst_rank_exit(Database &store, int64_t trial_id, int64_t run_id);

}  // namespace det::engine
