// Saves that wait on this machine until they are stored.
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/context/checkpoint.h"
#include "core/context/checkpoint_metadata.h"
#include "core/context/sealed_saves.h"
#include "core/storage/tree.h"

namespace det::context {

std::shared_ptr<SaveStage> CheckpointContext::stage() {
  const std::lock_guard guard(limits_mutex_);
  return stage_;
}

void CheckpointContext::stage_saves(const std::filesystem::path &directory, uint64_t limit_bytes) {
  gate_.check();
  const std::lock_guard asking(asking_);
  std::shared_ptr<SaveStage> made;
  if (!directory.empty()) {
    made = std::make_shared<SaveStage>(directory, limit_bytes, master_.info().cluster_id,
                                       std::shared_ptr<Logger>(std::shared_ptr<void>(), &logger_));
    made->make_room(0, SaveStage::Bytes::come, 0);
    if (communicator_.is_chief())
      for (auto &writer : made->take_sealed(owner_of_saves(master_.info()))) {
        if (master_.knows_checkpoint(writer->id())) {
          made->keep(*writer);
          continue;
        }
        const std::filesystem::path path = writer->path();
        const Save save{std::move(writer), read_metadata(path), {}, 0, made};
        auto ticket = std::make_shared<SaveTicket>(save.writer->id(), SavePart::all);
        saves_.add(ticket, 0, [this, save](SaveTicket &own) { work(own, save); });
      }
  }
  if (communicator_.is_chief()) note_stage(master_, directory);
  const std::lock_guard guard(limits_mutex_);
  stage_ = std::move(made);
}

// Null where there is no more room, whatever the limit says: a save is not given up for that.
std::unique_ptr<storage::CheckpointWriter> CheckpointContext::copy_staged(
    SaveStage &stage, const std::filesystem::path &directory,
    const std::optional<std::vector<std::string>> &paths) try {
  std::unique_ptr<storage::CheckpointWriter> writer = stage.begin(make_uuid());
  writer->copy(directory, paths);
  return writer;
} catch (const Error &error) {
  if (error.code != Code::full) throw;
  logger_.warning("saving a checkpoint without staging it: ", error.what(),
                  "; lower limit_bytes of det_staging_options to what there is room for");
  return nullptr;
}

// What an earlier attempt has stored of it already, where the storage can tell, is not sent again.
void CheckpointContext::publish_staged(storage::CheckpointWriter &staged, SaveStage &stage,
                                       const Json &metadata, SaveTicket *ticket) {
  stage.give_free();
  staged.list();  // throws for what its storage would refuse
  const std::unique_ptr<storage::CheckpointWriter> writer =
      storage_.resume(staged.id(), staged.path());
  writer->add(staged.path(), std::nullopt);
  publish(*writer, metadata, {}, ticket);
  stage.keep(staged);
}

}  // namespace det::context
