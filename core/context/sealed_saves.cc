#include "core/context/sealed_saves.h"

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/context/checkpoint_metadata.h"
#include "core/context/save_stage.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

engine::CheckpointEntry finish(storage::CheckpointWriter &writer, storage::Storage &storage,
                               master::Master &master) {
  engine::CheckpointReport report{writer.id(), read_metadata(writer.path()), {}, storage.config()};
  check_metadata(report.metadata, master.most_steps());
  report.resources = writer.commit();
  if (!master.knows_checkpoint(report.id)) master.report_checkpoint(report);
  writer.announced();
  return {report.id, report.metadata.at("steps_completed").get<int64_t>()};
}

// Nothing where it is not stored.
std::optional<storage::Resources> resources_in(storage::Storage &storage,
                                               const std::string &id) try {
  return storage.list(id);
} catch (const Error &error) {
  if (error.code != Code::not_found) throw;
  return std::nullopt;
}

engine::CheckpointEntry finish_staged(storage::CheckpointWriter &staged, SaveStage &stage,
                                      storage::Storage &storage, master::Master &master) {
  engine::CheckpointReport report{staged.id(), read_metadata(staged.path()), {}, storage.config()};
  check_metadata(report.metadata, master.most_steps());
  if (!master.knows_checkpoint(report.id)) {
    // Where it is stored already, only the master is to be told, and then the next sweep.
    if (const std::optional<storage::Resources> resources = resources_in(storage, report.id)) {
      report.resources = *resources;
      master.report_checkpoint(report);
    } else {
      const auto writer = storage.resume(report.id, staged.path());
      writer->add(staged.path(), std::nullopt);
      report.resources = writer->commit();
      master.report_checkpoint(report);
      writer->announced();
    }
  }
  stage.keep(staged);
  return {report.id, report.metadata.at("steps_completed").get<int64_t>()};
}

struct Latest {
  std::optional<engine::CheckpointEntry> entry;

  void add(const engine::CheckpointEntry &saved, Logger &logger) {
    logger.info("saved checkpoint ", saved.id, ", which a killed process had begun");
    if (!entry || entry->steps <= saved.steps) entry = saved;
  }
};

// Beside the directories of the runs; empty where these are nowhere.
fs::path note_of_stage(master::Master &master) {
  const fs::path run = master.run_directory();
  if (run.empty()) return {};
  const std::string owner = owner_of_saves(master.info());
  return run.parent_path().parent_path() / "stages" /
         (std::to_string(checksum64(owner.data(), owner.size())) + ".json");
}

fs::path noted_stage(master::Master &master) {
  const fs::path note = note_of_stage(master);
  if (note.empty() || !fs::exists(note)) return {};
  return parse_json_object(read_file(note), "'" + note.string() + "'")
      .at("directory")
      .get<std::string>();
}

}  // namespace

std::string owner_of_saves(const engine::RunInfo &run) {
  return "trial " + std::to_string(run.trial_id) + " of " + run.cluster_id;
}

void note_stage(master::Master &master, const fs::path &directory) {
  const fs::path note = note_of_stage(master);
  if (note.empty()) return;
  if (directory.empty()) {
    fs::remove(note);
    return;
  }
  make_directories(note.parent_path());
  write_file_durably(note, to_wire(Json{{"directory", fs::absolute(directory).string()}}));
}

std::optional<engine::CheckpointEntry> finish_sealed_saves(
    storage::Storage &storage, master::Master &master, const std::shared_ptr<Logger> &logger) try {
  storage.serve(master.info().cluster_id);
  const std::string owner = owner_of_saves(master.info());
  Latest latest;
  for (const std::unique_ptr<storage::CheckpointWriter> &writer : storage.take_sealed(owner)) try {
      latest.add(finish(*writer, storage, master), *logger);
    } catch (const Error &error) {
      logger->warning("finishing checkpoint " + writer->id() +
                      ", which a killed process had begun: " + error.what());
    }
  const fs::path directory = noted_stage(master);
  std::error_code gone;
  if (directory.empty() || !fs::is_directory(directory, gone)) return latest.entry;
  SaveStage stage(directory, UINT64_MAX, master.info().cluster_id, logger);
  std::vector<std::unique_ptr<storage::CheckpointWriter>> staged = stage.take_sealed(owner);
  if (!staged.empty()) storage.sweep();  // what the same process left of them there
  for (std::unique_ptr<storage::CheckpointWriter> &writer : staged) try {
      latest.add(finish_staged(*writer, stage, storage, master), *logger);
    } catch (const Error &error) {
      logger->warning("storing checkpoint " + writer->id() + " from '" + directory.string() +
                      "', where a killed process had put it: " + error.what() +
                      "; the next start tries again");
      static_cast<void>(writer.release());  // its files stay
    }
  return latest.entry;
} catch (const Error &error) {
  // The next start tries again; training need not wait for that.
  logger->warning(std::string("finishing what killed processes had begun to save: ") +
                  error.what());
  return std::nullopt;
}

}  // namespace det::context
