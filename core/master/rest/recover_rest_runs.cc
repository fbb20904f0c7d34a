#include "core/master/rest/recover_rest_runs.h"

#include <optional>

#include "core/base/error.h"
#include "core/codec/unmanaged.h"
#include "core/journal/recovery.h"
#include "core/journal/run_directory.h"
#include "core/master/rest/delivery.h"
#include "core/master/rest/final_state.h"
#include "core/master/rest/home.h"

namespace det::master {

namespace fs = std::filesystem;

namespace {

ReportOrigin origin_of(const fs::path &directory) {
  const JournalKey key = journal::read_run_directory(directory);
  const Json about = journal::read_about(directory);
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
  for (const fs::path &directory : journal::list_run_directories(home)) {
    const JournalKey other = journal::read_run_directory(directory);
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
journal::RecoveredSpool deliver_all(MasterSession &session, const fs::path &directory,
                                    RestDelivery &sink, Logger &logger) {
  for (;;) {
    const uint64_t shown = session.credential_number();
    try {
      return journal::recover_spool(directory, sink, logger);
    } catch (const Error &error) {
      if (error.http_status != 401 || session.credential_number() == shown) throw;
    }
  }
}

std::optional<journal::RecoveredRank> recover(const std::shared_ptr<MasterSession> &session,
                                              const fs::path &home, const fs::path &directory,
                                              bool offer_refused,
                                              const std::shared_ptr<Logger> &logger) {
  // Two masters' addresses may give one file name.
  if (journal::read_about(directory).value("master", session->url()) != session->url())
    return std::nullopt;
  const ReportOrigin origin = origin_of(directory);
  journal::RecoveredRank rank{.trial_id = origin.trial_id, .run_id = origin.run_id};
  RestDelivery sink(session, origin, directory, logger);
  if (journal::has_undelivered(directory)) {
    const journal::RecoveredSpool spool = deliver_all(*session, directory, sink, *logger);
    rank.lost_bytes = spool.lost_bytes;
  }
  rank.reports = sink.taken();
  if (offer_refused)
    sink.refused().offer([&](const Json &report) {
      const bool is_taken = sink.offer_again(report);
      if (is_taken) ++rank.reports;
      return is_taken;
    });
  rank.refused = sink.refused().count();
  tell_end(*session, home, directory, origin, *logger);
  journal::remove_run_directory(directory);
  if (rank.reports == 0 && rank.lost_bytes == 0 && rank.refused == 0) return std::nullopt;
  return rank;
}

}  // namespace

journal::Recovery recover_rest_runs(const std::shared_ptr<MasterSession> &session,
                                    bool offer_refused, const std::shared_ptr<Logger> &logger) {
  const fs::path home = rest_home(session->url());
  journal::clear_unfinished_directories(home);
  const auto recover_one = [&](const fs::path &directory) -> std::optional<journal::RecoveredRank> {
    try {
      return recover(session, home, directory, offer_refused, logger);
    } catch (const Json::exception &error) {
      logger->warning("recovering '" + directory.string() + "': " + error.what());
      return std::nullopt;
    }
  };
  return journal::recover_dead_ranks(journal::list_run_directories(home), *logger, recover_one);
}

}  // namespace det::master
