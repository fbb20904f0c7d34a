#include "core/engine/runs/joined_run.h"

#include "core/base/error.h"
#include "core/engine/change.h"
#include "core/engine/runs/live_run.h"
#include "core/journal/run_directory.h"

namespace det::engine {

namespace fs = std::filesystem;

namespace {

// Another machine may have a store of its own at the same path.
bool is_that_store(Database &store, const RunTicket &ticket) {
  return store
      .query(
          "SELECT 1 FROM meta JOIN runs ON journal_id=?"
          " WHERE key='cluster_id' AND value=? AND trial_id=? AND run_id=?",
          ticket.journal_id, ticket.info.cluster_id, ticket.info.trial_id, ticket.info.run_id)
      .next();
}

bool on_machine_of(const ProcessIdentity &chief) {
  return !chief.boot_id.empty() && chief.boot_id == ProcessIdentity::current().boot_id;
}

// Why the store cannot be there; empty when it is worth a try.
std::string absence(const RunTicket &ticket, bool same_machine, const StoreOptions &options) {
  std::error_code failed;
  if (!fs::exists(store_path(ticket.store_directory), failed)) return "this path has none";
  // Its processes share memory, which does not reach other machines.
  if (!same_machine && !options.on_network(ticket.store_directory))
    return "the file system here is not shared with that machine";
  return {};
}

StartedRun join(Store &store, const RunTicket &ticket, int rank) {
  const RunInfo &run = ticket.info;
  const std::string journal_id = rank_journal_id(ticket.journal_id, rank);
  // Nobody else makes or clears a directory meanwhile.
  Change change(store, Durability::relaxed);
  OwnerLock owner = journal::make_run_directory(
      ticket.store_directory, {run.trial_id, run.run_id, rank, journal_id}, {.with_signal = true});
  change.commit();
  return {run, rank, false, false, journal_id, std::move(owner)};
}

std::string unreachable(const RunTicket &ticket, int rank, const std::string &why) {
  return "using the store '" + ticket.store_directory.string() + "' of rank 0 on host " +
         ticket.chief.host + " from rank " + std::to_string(rank) + " on host " +
         ProcessIdentity::current().host + ": " + why +
         "; report from rank 0, or set DET_HOME to a directory that all machines share";
}

// The run of a rank that cannot reach the store of its chief.
class UnreachableRun : public RunBackend,
                       public RunPreemption,
                       public RunOperations,
                       public RunCheckpoints {
 public:
  // `why` as unreachable() gives it.
  UnreachableRun(RunInfo info, std::string why) : info_(std::move(info)), why_(std::move(why)) {}

  const RunInfo &info() const override { return info_; }
  RunPreemption &preemption() override { return *this; }
  RunOperations &operations() override { return *this; }
  RunCheckpoints &checkpoints() override { return *this; }
  void begin_from(const CheckpointEntry &latest) override {
    info_.latest_checkpoint = latest.id;
    info_.steps_completed = latest.steps;
  }
  std::string unreachable() const override { return why_; }
  std::filesystem::path run_directory() const override { refuse(); }
  std::string journal_id() const override { refuse(); }
  Delivery deliver(const JournalKey &, std::span<const Report>) override { refuse(); }
  void set_metadata(const Json &) override { refuse(); }
  Json metadata() override { refuse(); }
  bool report_early_exit(const std::string &) override { refuse(); }
  std::optional<double> best_validation() override { refuse(); }
  void end_run(RunEnd) override {}

  bool wait(const Wake &) override { refuse(); }
  void note(const std::string &) override { refuse(); }
  void acknowledge() override { refuse(); }

  SearchOperation current() override { refuse(); }
  void complete(uint64_t, const Json &) override { refuse(); }
  void acknowledge_none_left() override { refuse(); }

  void report(const CheckpointReport &) override { refuse(); }
  bool knows(const std::string &) override { refuse(); }
  bool has_made(const std::string &) override { return false; }
  std::vector<CheckpointEntry> list() override { refuse(); }
  // The storage, which every rank can reach, has a copy.
  std::optional<Json> metadata(const std::string &) override { return std::nullopt; }
  bool withdraw(const std::string &) override { refuse(); }
  bool reinstate(const std::string &) override { refuse(); }
  void note_deleted(const std::string &) override { refuse(); }

 private:
  [[noreturn]] void refuse() const { throw Error(Code::unsupported, why_); }

  RunInfo info_;
  const std::string why_;
};

}  // namespace

std::unique_ptr<RunBackend> join_live_run(const RunTicket &ticket, int rank,
                                          std::shared_ptr<Logger> log,
                                          const StoreOptions &options) {
  const bool same_machine = on_machine_of(ticket.chief);
  std::string why = absence(ticket, same_machine, options);
  if (why.empty()) {
    try {
      Store store(ticket.store_directory, false, options);
      if (is_that_store(store.database(), ticket)) {
        StartedRun run = join(store, ticket, rank);
        return std::make_unique<LiveRun>(std::move(store), std::move(run), std::move(log));
      }
      why = "another store is at this path";
    } catch (const Error &e) {
      if (same_machine || is_passing(e.code)) throw;
      why = e.what();
    }
  }
  return std::make_unique<UnreachableRun>(ticket.info, unreachable(ticket, rank, why));
}

Json to_json(const RunTicket &ticket) {
  return {{"store_directory", ticket.store_directory.string()},
          {"journal_id", ticket.journal_id},
          {"chief", ticket.chief.to_json()},
          {"info", to_json(ticket.info)}};
}

RunTicket ticket_from_json(const Json &json) {
  return {json.at("store_directory").get<std::string>(), json.at("journal_id"),
          ProcessIdentity::from_json(json.at("chief")), run_info_from_json(json.at("info"))};
}

}  // namespace det::engine
