#include "core/master/rest/left_behind.h"

#include <cerrno>
#include <exception>

#include "core/base/error.h"
#include "core/codec/unmanaged.h"
#include "core/engine/run_directory.h"
#include "core/master/rest/delivery.h"
#include "core/master/rest/final_state.h"
#include "core/master/rest/home.h"

namespace det::master {

namespace fs = std::filesystem;

namespace {

ReportOrigin origin_of(const fs::path &directory) {
  const JournalKey key = engine::read_run_directory(directory);
  const Json about = engine::read_about(directory);
  ReportOrigin origin{about.value("managed", true),
                      key.trial_id,
                      key.run_id,
                      key.rank,
                      about.value("task_id", ""),
                      about.value("allocation_id", "")};
  if (const Json storage_id = about.value("storage_id", Json()); storage_id.is_number_integer())
    origin.storage_id = storage_id.get<int64_t>();
  return origin;
}

// A later run has a state of its own.
bool has_later_run(const fs::path &home, const ReportOrigin &origin) {
  for (const fs::path &directory : engine::list_run_directories(home)) {
    const JournalKey other = engine::read_run_directory(directory);
    if (other.trial_id == origin.trial_id && other.run_id > origin.run_id) return true;
  }
  return false;
}

bool is_gone(MasterSession &session, int64_t trial_id) {
  try {
    session.call(codec::GetTrial{trial_id});
    return false;
  } catch (const Error &error) {
    return error.http_status == 404;
  }
}

void tell_end(MasterSession &session, const fs::path &home, const fs::path &directory,
              const ReportOrigin &origin, Logger &logger) {
  const FinalState final_state(directory);
  const std::optional<codec::TrialState> state = final_state.kept();
  if (!state) return;
  try {
    if (!has_later_run(home, origin))
      session.call(codec::PatchTrial{origin.trial_id, *state}, {.replay = http::Replay::safe});
  } catch (const Error &error) {
    // Masters answer 500 for a trial that was deleted.
    if (error.http_status != 500 || !is_gone(session, origin.trial_id)) throw;
    logger.warning("trial " + std::to_string(origin.trial_id) +
                   " is no longer on the master: its end is not told");
  }
  final_state.forget();
}

// A login that ends meanwhile and can be renewed stops nothing.
void ship_all(MasterSession &session, const fs::path &directory, const engine::ShipJournals &ship,
              RestDelivery &sink, engine::LeftBehind &found) {
  for (;;) {
    const uint64_t shown = session.credential_number();
    try {
      return ship(directory, sink, found);
    } catch (const Error &error) {
      if (error.http_status != 401 || session.credential_number() == shown) throw;
    }
  }
}

void recover(const std::shared_ptr<MasterSession> &session, const fs::path &home,
             const fs::path &directory, const engine::ShipJournals &ship, bool offer_refused,
             const std::shared_ptr<Logger> &logger, engine::Recovery &recovery) {
  const auto owner = OwnerLock::take_over(engine::owner_file(directory));
  if (!owner) {
    ++recovery.busy;
    return;
  }
  // Two masters' addresses may give one file name.
  if (engine::read_about(directory).value("master", session->url()) != session->url()) return;
  const ReportOrigin origin = origin_of(directory);
  engine::LeftBehind found{.trial_id = origin.trial_id, .run_id = origin.run_id};
  RestDelivery sink(session, origin, directory, logger);
  if (engine::has_undelivered(directory)) ship_all(*session, directory, ship, sink, found);
  found.reports = sink.taken();
  if (offer_refused)
    sink.refused().offer([&](const Json &report) {
      const bool is_taken = sink.offer_again(report);
      if (is_taken) ++found.reports;
      return is_taken;
    });
  found.refused = sink.refused().count();
  tell_end(*session, home, directory, origin, *logger);
  engine::remove_run_directory(directory);
  if (found.reports > 0 || found.refused > 0) recovery.runs.push_back(found);
}

}  // namespace

engine::Recovery recover_rest_runs(const std::shared_ptr<MasterSession> &session,
                                   const engine::ShipJournals &ship, bool offer_refused,
                                   const std::shared_ptr<Logger> &logger) {
  engine::Recovery recovery;
  const fs::path home = rest_home(session->url());
  engine::clear_unfinished_directories(home);
  std::exception_ptr failed;
  for (const fs::path &directory : engine::list_run_directories(home)) {
    try {
      recover(session, home, directory, ship, offer_refused, logger, recovery);
    } catch (const Json::exception &e) {
      logger->warning("recovering '" + directory.string() + "': " + e.what());
    } catch (const Error &e) {
      // Its owner, or another process that recovers, has just removed it.
      if (e.os_errno == ENOENT && !fs::exists(directory)) continue;
      logger->warning("recovering '" + directory.string() + "': " + e.what());
      if (!failed) failed = std::current_exception();
    }
  }
  if (failed) std::rethrow_exception(failed);
  return recovery;
}

}  // namespace det::master
