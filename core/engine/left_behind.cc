#include "core/engine/left_behind.h"

#include <cerrno>
#include <exception>
#include <string>

#include "core/base/error.h"
#include "core/engine/delivery.h"
#include "core/engine/ranks.h"
#include "core/engine/run_directory.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

class StoreSink : public ReportSink {
 public:
  explicit StoreSink(Database &store) : writer_(store) {}
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

void recover(Database &store, const fs::path &directory, const ShipJournals &ship,
             Recovery &recovery) {
  const auto owner = OwnerLock::take_over(owner_file(directory));
  if (!owner) {
    ++recovery.busy;
    return;
  }
  const JournalKey run = read_run_directory(directory);
  if (!is_known(store, run)) {
    // A power cut took its record, and its numbers may have passed to another run.
    if (!has_journals(directory)) return remove_run_directory(directory);
    throw Error(Code::not_found, "the store does not know this run; its journals are kept in '" +
                                     set_aside(directory).string() + "'");
  }
  LeftBehind found{.trial_id = run.trial_id, .run_id = run.run_id};
  StoreSink sink(store);
  ship(directory, sink, found);
  Transaction transaction(store);
  if (run.rank == 0) record_run_end(store, run.trial_id, run.run_id, RunExit::died);
  else record_rank_end(store, run.trial_id, run.run_id, run.rank, RunExit::died);
  transaction.commit();
  remove_run_directory(directory);
  recovery.runs.push_back(found);
}

}  // namespace

Recovery recover_left_behind(const fs::path &store_directory, const ShipJournals &ship, Logger &log,
                             const StoreOptions &options) {
  Recovery recovery;
  clear_unfinished_directories(store_directory);
  const std::vector<fs::path> directories = list_run_directories(store_directory);
  if (directories.empty()) return recovery;
  Database store = open_store(store_directory, false, options);
  std::exception_ptr failed;
  for (const fs::path &directory : directories) {
    try {
      recover(store, directory, ship, recovery);
    } catch (const Error &e) {
      // Its owner, or another process that recovers, has just removed it.
      if (e.os_errno == ENOENT && !fs::exists(directory)) continue;
      log.warning("recovering '" + directory.string() + "': " + e.what());
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
  return recovery;
}

}  // namespace det::engine
