#include "core/context/sealed_saves.h"

#include "core/base/error.h"
#include "core/context/checkpoint_metadata.h"

namespace det::context {

namespace {

engine::CheckpointEntry finish(storage::CheckpointWriter &writer, storage::Storage &storage,
                               master::Master &master) {
  engine::CheckpointReport report{writer.id(), read_metadata(writer.path()), {}, storage.config()};
  check_metadata(report.metadata);
  report.resources = writer.commit();
  if (!master.knows_checkpoint(report.id)) master.report_checkpoint(report);
  writer.announced();
  return {report.id, report.metadata.at("steps_completed").get<int64_t>()};
}

}  // namespace

std::string owner_of_saves(const engine::RunInfo &run) {
  return "trial " + std::to_string(run.trial_id) + " of " + run.cluster_id;
}

std::optional<engine::CheckpointEntry> finish_sealed_saves(storage::Storage &storage,
                                                           master::Master &master,
                                                           Logger &logger) try {
  std::optional<engine::CheckpointEntry> latest;
  storage.serve(master.info().cluster_id);
  for (const std::unique_ptr<storage::CheckpointWriter> &writer :
       storage.take_sealed(owner_of_saves(master.info())))
    try {
      const engine::CheckpointEntry entry = finish(*writer, storage, master);
      logger.info("saved checkpoint ", entry.id, ", which a killed process had begun");
      if (!latest || latest->steps <= entry.steps) latest = entry;
    } catch (const Error &error) {
      logger.warning("finishing checkpoint " + writer->id() +
                     ", which a killed process had begun: " + error.what());
    }
  return latest;
} catch (const Error &error) {
  // The next start tries again; training need not wait for that.
  logger.warning(std::string("finishing what killed processes had begun to save: ") + error.what());
  return std::nullopt;
}

}  // namespace det::context
