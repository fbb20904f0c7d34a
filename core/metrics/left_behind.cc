#include "core/metrics/left_behind.h"

#include "core/journal/recovery.h"
#include "core/master/rest/left_behind.h"

namespace det::metrics {

namespace fs = std::filesystem;

namespace {

engine::ShipJournals ship_to(Logger &logger) {
  return [&logger](const fs::path &run_directory, ReportSink &sink, engine::LeftBehind &found) {
    const journal::RecoveredSpool spool = journal::recover_spool(run_directory, sink);
    found.reports += spool.reports;
    found.lost_bytes += spool.lost_bytes;
    if (!spool.conflicts.empty())
      logger.warning("recovering reports: " + spool.conflicts.front() +
                     (spool.conflicts.size() == 1
                          ? ""
                          : " (and " + std::to_string(spool.conflicts.size() - 1) + " more)"));
    for (const fs::path &file : spool.damaged)
      logger.warning("recovering reports: '" + file.string() +
                     "' is damaged and cannot be read; it is kept under that name");
  };
}

}  // namespace

engine::Recovery recover_runs(const fs::path &store_directory, Logger &logger) {
  if (!fs::exists(engine::store_path(store_directory))) return {};
  return engine::recover_left_behind(store_directory, ship_to(logger), logger);
}

engine::Recovery recover_runs(const std::shared_ptr<master::MasterSession> &session,
                              bool offer_refused, const std::shared_ptr<Logger> &logger) {
  return master::recover_rest_runs(session, ship_to(*logger), offer_refused, logger);
}

}  // namespace det::metrics
