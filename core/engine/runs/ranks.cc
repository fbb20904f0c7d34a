#include "core/engine/runs/ranks.h"

#include <algorithm>

#include "core/base/clock.h"
#include "core/journal/run_directory.h"

namespace det::engine {

std::string rank_journal_id(const std::string &journal_id_of_run, int rank) {
  return rank == 0 ? journal_id_of_run : journal_id_of_run + "." + std::to_string(rank);
}

std::vector<RankRecord> ranks_of(Database &store, int64_t trial_id, int64_t run_id) {
  std::vector<RankRecord> ranks;
  Query rows = store.query(
      "SELECT rank, node, process, ended, exit FROM ranks WHERE trial_id=?1 AND run_id=?2"
      " UNION ALL SELECT 0, 0, process, ended, exit FROM runs WHERE trial_id=?1 AND run_id=?2"
      " AND NOT EXISTS (SELECT 1 FROM ranks WHERE trial_id=?1 AND run_id=?2) ORDER BY 1",
      trial_id, run_id);
  while (rows.next()) {
    const Json process = parse_json_object(rows.view(2), "the process of a rank");
    ranks.push_back({static_cast<int>(rows.integer(0)),
                     {static_cast<int>(rows.integer(1)), ProcessIdentity::from_json(process)},
                     rows.maybe_integer(3),
                     rows.maybe_text(4)});
  }
  return ranks;
}

void record_rank(Database &store, int64_t trial_id, int64_t run_id, int rank,
                 const RankProcess &place) {
  store.run("INSERT INTO ranks (trial_id, run_id, rank, node, process) VALUES (?, ?, ?, ?, ?)",
            trial_id, run_id, rank, place.node, to_wire(place.process.to_json()));
}

void record_rank_end(Database &store, int64_t trial_id, int64_t run_id, int rank, RunExit how) {
  store.run(
      "UPDATE ranks SET ended=?, exit=? WHERE trial_id=? AND run_id=? AND rank=? AND exit IS NULL",
      now_us(), run_exit_name(how), trial_id, run_id, rank);
  if (store.changes() > 0 && how == RunExit::error) revise_run_end(store, trial_id, run_id);
}

std::vector<int> record_lost_ranks(Database &store, const std::filesystem::path &store_directory,
                                   int64_t trial_id, int64_t run_id) {
  std::vector<int> lost;
  for (const RankRecord &record : ranks_of(store, trial_id, run_id)) {
    if (record.rank == 0) continue;
    // One that never joined the store has no directory, and could not have told of its end.
    const bool died_now = !record.exit && liveness(record.place.process) == Liveness::dead &&
                          std::filesystem::exists(journal::run_directory(store_directory, trial_id,
                                                                         run_id, record.rank));
    if (died_now) record_rank_end(store, trial_id, run_id, record.rank, RunExit::died);
    if (died_now || record.exit == run_exit_name(RunExit::died)) lost.push_back(record.rank);
  }
  return lost;
}

RunExit worst_rank_exit(Database &store, int64_t trial_id, int64_t run_id) {
  RunExit worst = RunExit::ok;
  const std::vector<RankRecord> ranks = ranks_of(store, trial_id, run_id);
  for (const RunExit how : {RunExit::died, RunExit::invalid_hp, RunExit::error})
    if (std::ranges::any_of(ranks, [&](const RankRecord &record) {
          return record.rank != 0 && record.exit == run_exit_name(how);
        }))
      worst = how;
  return worst;
}

}  // namespace det::engine
