#include "core/engine/runs/recover_runs.h"

#include <string>

#include "core/base/error.h"
#include "core/engine/runs/ranks.h"
#include "core/engine/runs/report_writer.h"
#include "core/journal/recovery.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

class StoreSink : public ReportSink {
 public:
  // The journal, which may have been made to survive a power cut, goes when they are delivered.
  explicit StoreSink(Database &store) : writer_(store) { writer_.make_durable(); }
  Delivery deliver(const JournalKey &journal, std::span<const Report> reports) override {
    return writer_.deliver(journal, reports);
  }

 private:
  ReportWriter writer_;
};

bool is_known(Database &store, const JournalKey &run) {
  Query found = store.query("SELECT journal_id FROM runs WHERE trial_id=? AND run_id=?",
                            run.trial_id, run.run_id);
  return found.next() && rank_journal_id(found.text(0), run.rank) == run.journal_id;
}

std::optional<journal::RecoveredRank> recover(Database &store, const fs::path &directory,
                                              Logger &log) {
  const JournalKey run = journal::read_run_directory(directory);
  if (!is_known(store, run)) {
    // A power cut took its record, and its numbers may have passed to another run.
    if (journal::has_journals(directory))
      throw Error(Code::not_found, "the store does not know this run; its journals are kept in '" +
                                       journal::set_aside(directory).string() + "'");
    journal::remove_run_directory(directory);
    return std::nullopt;
  }
  StoreSink sink(store);
  const journal::RecoveredSpool spool = journal::recover_spool(directory, sink, log);
  Transaction transaction(store);
  if (run.rank == 0) record_run_end(store, run.trial_id, run.run_id, RunExit::died);
  else record_rank_end(store, run.trial_id, run.run_id, run.rank, RunExit::died);
  transaction.commit();
  journal::remove_run_directory(directory);
  return journal::RecoveredRank{.trial_id = run.trial_id,
                                .run_id = run.run_id,
                                .reports = spool.reports,
                                .lost_bytes = spool.lost_bytes};
}

}  // namespace

journal::Recovery recover_runs(const fs::path &store_directory, Logger &log,
                               const StoreOptions &options) {
  std::error_code failed;
  if (!fs::exists(store_path(store_directory), failed)) return {};  // open_store() says why
  journal::clear_unfinished_directories(store_directory);
  const std::vector<fs::path> directories = journal::list_run_directories(store_directory);
  if (directories.empty()) return {};
  Database store = open_store(store_directory, false, options);
  return journal::recover_dead_ranks(
      directories, log, [&](const fs::path &directory) { return recover(store, directory, log); });
}

}  // namespace det::engine
