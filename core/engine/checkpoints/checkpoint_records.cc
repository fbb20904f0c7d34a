#include "core/engine/checkpoints/checkpoint_records.h"

#include "core/base/clock.h"
#include "core/base/error.h"
#include "core/engine/store_places.h"

namespace det::engine {

namespace {

int64_t steps_of(const CheckpointReport &report) {
  const auto steps = report.metadata.find("steps_completed");
  if (steps != report.metadata.end() && steps->is_number_integer() && *steps >= 0 &&
      *steps <= INT64_MAX)
    return steps->get<int64_t>();
  throw Error(Code::invalid, "reporting checkpoint " + report.id +
                                 ": its metadata needs \"steps_completed\", a whole number that "
                                 "is not negative");
}

}  // namespace

std::optional<LatestCheckpoint> latest_checkpoint(Database &store, int64_t trial_id) {
  // The last condition says which index has them: a trial may have thousands that were deleted.
  Query found = store.query(
      "SELECT uuid, steps FROM checkpoints WHERE trial_id=? AND state='COMPLETED'"
      " AND state<>'DELETED'"
      " ORDER BY steps DESC, time DESC, id DESC LIMIT 1",
      trial_id);
  if (!found.next()) return std::nullopt;
  return LatestCheckpoint{found.text(0), found.integer(1)};
}

void record_checkpoint(Database &store, const RunInfo &run, const CheckpointReport &report) {
  const int64_t steps = steps_of(report);
  const std::string metadata = to_wire(report.metadata);
  const std::string resources = to_wire(Json(report.resources));
  uint64_t size = 0;
  for (const auto &[path, bytes] : report.resources) size += bytes;

  Query known =
      store.query("SELECT trial_id, metadata, resources FROM checkpoints WHERE uuid=?", report.id);
  if (known.next()) {
    if (known.integer(0) == run.trial_id && known.view(1) == metadata && known.view(2) == resources)
      return;
    throw Error(Code::conflict, "reporting checkpoint " + report.id +
                                    ": another checkpoint has this id; store it under a new one");
  }
  store.run(
      "INSERT INTO checkpoints (uuid, trial_id, run_id, steps, state, size, time, metadata,"
      " resources, storage) VALUES (?, ?, ?, ?, 'COMPLETED', ?, ?, ?, ?, ?)",
      report.id, run.trial_id, run.run_id, steps, size, now_us(), metadata, resources,
      to_wire(recorded_storage(home_of(store), report.storage)));
}

}  // namespace det::engine
