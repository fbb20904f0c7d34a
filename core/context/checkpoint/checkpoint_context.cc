#include "core/context/checkpoint/checkpoint_context.h"

#include "core/base/error.h"
#include "core/context/train.h"
#include "core/storage/tree.h"
#include "core/tensors/reader.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

constexpr const char *state_file = "state.safetensors", *steps_completed = "steps_completed";

// Where a run with another storage looks, there is nothing to delete, and the files would stay.
void require_place(const storage::Storage &storage, const std::string &id, Json recorded) {
  const fs::path directory = storage.directory();
  Json own = storage.config();
  const Json type = recorded.value("type", Json());
  if (directory.empty() || (type != "shared_fs" && type != "directory")) {
    own.erase("deduplicate");
    recorded.erase("deduplicate");
    if (own == recorded) return;
  } else {
    const fs::path other = storage::make_storage(recorded, std::nullopt, nullptr)->directory();
    std::error_code failed;
    if (other == directory || fs::equivalent(other, directory, failed)) return;
  }
  throw Error(Code::state, "deleting checkpoint " + id + ": it is in another storage (" +
                               to_wire(recorded) + ") than that of this run (" + to_wire(own) +
                               "); `det checkpoints rm " + id + "` deletes it there");
}

}  // namespace

CheckpointContext::CheckpointContext(const RunParts &run)
    : run_(run),
      retention_(run_, stage_),
      catalog_(run_, retention_),
      background_(run_, catalog_, stage_),
      saver_(run_, catalog_, background_),
      restorer_(run_, retention_, stage_) {
  run_.storage.serve(run_.master.info().cluster_id);
}

std::string CheckpointContext::save_state(int64_t steps,
                                          const std::vector<tensors::Tensor> &buffers) {
  const auto checkpoint =
      saver_.begin(to_wire(Json{{steps_completed, steps}}), run_.communicator.ranks().size > 1);
  checkpoint->write_tensors(state_file, buffers, {});
  checkpoint->commit();
  return checkpoint->id();
}

int64_t CheckpointContext::load_state(const std::optional<std::string> &id,
                                      const std::vector<tensors::Tensor> &buffers) {
  run_.lifetime.check();
  const std::optional<std::string> from = id ? id : run_.master.info().latest_checkpoint;
  if (!from) return 0;
  const auto reader = restorer_.restore(*from, {});
  tensors::Reader(storage::Tree(reader->path()), state_file, true).read(buffers);
  return catalog_.metadata(*from).at(steps_completed).get<int64_t>();
}

// The master is told before the first file goes: who is killed in between must not leave it a
// checkpoint without files to begin the next run from. The storage keeps in mind meanwhile that
// this one is to be settled at the next start.
void CheckpointContext::remove(const std::string &id) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  storage::check_storage_id(id);
  if (background_.is_saving(id))
    throw Error(Code::busy, "deleting checkpoint " + id +
                                ": it is still being saved; cancel that, or wait for its end");
  catalog_.report_waiting(id);
  retention_.await(id);
  if (const std::optional<Json> recorded = run_.master.checkpoints().storage_of(id))
    require_place(run_.storage, id, *recorded);
  if (const std::shared_ptr<SaveStage> at = stage_.get()) at->drop(id);
  run_.storage.withdraw(id);
  bool was_complete = false;
  try {
    was_complete = run_.master.checkpoints().withdraw(id);
  } catch (const Error &) {
    run_.storage.settle(id);
    throw;
  }
  retention_.remove_withdrawn(id, was_complete);
  run_.master.checkpoints().note_deleted(id);
  run_.storage.settle(id);
  run_.storage.reclaim();
}

void CheckpointContext::recover() {
  for (const std::string &id : run_.storage.sweep()) {
    if (run_.master.checkpoints().knows(id)) run_.storage.settle(id);
    else finish_removal(id);
  }
  run_.storage.reclaim();
}

void CheckpointContext::finish_removal(const std::string &id) try {
  run_.logger.info("removing checkpoint " + id +
                   ", which a killed process never reported, or was deleting");
  run_.storage.remove(id);
  run_.master.checkpoints().note_deleted(id);
  run_.storage.settle(id);
} catch (const Error &error) {
  // The next start tries again; training need not wait for that.
  run_.logger.warning("removing checkpoint " + id +
                      ", which a killed process left: " + error.what());
}

}  // namespace det::context
