#include "core/context/checkpoint/checkpoint_saver.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/uuid.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/context/checkpoint/joint_upload.h"
#include "core/context/train.h"
#include "core/storage/tree.h"

namespace det::context {

namespace fs = std::filesystem;

namespace {

Json metadata_from(const std::string &text, int64_t most_steps) {
  Json metadata = parse_json_object(text, "metadata_json");
  check_metadata(metadata, most_steps);
  return metadata;
}

// A directory that one rank saves. What the program says is in it.
struct Upload {
  Json metadata;
  std::optional<std::vector<std::string>> paths = {};  // none: everything
};

Upload read_upload(const fs::path &directory, const std::string &metadata_json,
                   const storage::Selector &selector, int64_t most_steps) {
  if (directory.empty())
    throw Error(Code::state, "uploading a checkpoint: directory must not be NULL without shard");
  Upload upload{metadata_from(metadata_json, most_steps)};
  if (!fs::is_directory(directory))
    throw Error(fs::exists(directory) ? Code::invalid : Code::not_found,
                "uploading a checkpoint: '" + directory.string() + "' is not a directory");
  write_metadata(directory, upload.metadata);
  if (!selector) return upload;
  upload.paths.emplace();
  for (const auto &[path, size] : storage::list_directory(directory))
    if (selector(path)) upload.paths->push_back(path);
  return upload;
}

}  // namespace

void CheckpointSaver::check_rank(const char *call) const {
  if (run_.communicator.is_chief()) return;
  throw Error(Code::state, std::string("calling ") + call + " on non-chief rank " +
                               std::to_string(run_.communicator.ranks().rank) +
                               ": without shard only rank 0 saves");
}

std::string CheckpointSaver::upload(const fs::path &directory, const std::string &metadata_json,
                                    bool sharded, const storage::Selector &selector,
                                    storage::Progress *progress) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  if (sharded) return upload_sharded(directory, metadata_json, selector, progress);
  check_rank("upload");
  background_.settle(progress);
  background_.rethrow_failure("uploading a checkpoint");
  const Upload upload = read_upload(directory, metadata_json, selector, run_.master.most_steps());
  std::string id = make_uuid();
  const std::unique_ptr<storage::CheckpointWriter> writer = run_.storage.begin(id);
  writer->add(directory, upload.paths, progress);
  catalog_.publish(*writer, upload.metadata, {}, progress);
  return id;
}

std::shared_ptr<SaveTicket> CheckpointSaver::upload_async(const fs::path &directory,
                                                          const std::string &metadata_json,
                                                          bool sharded,
                                                          const storage::Selector &selector,
                                                          storage::Progress *progress) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const auto turn = background_.take_turn();
  if (sharded) return upload_sharded_async(directory, metadata_json, selector, progress);
  check_rank("upload");
  const Upload upload = read_upload(directory, metadata_json, selector, run_.master.most_steps());
  const uint64_t bytes = bytes_of(directory, upload.paths);
  background_.make_room(bytes, SaveStage::Bytes::come, progress);
  background_.rethrow_failure("uploading a checkpoint");
  const std::shared_ptr<SaveStage> at = background_.stage();
  BackgroundSaves::Save save{at ? copy_staged(*at, directory, upload.paths, progress) : nullptr,
                             upload.metadata,
                             {},
                             bytes};
  if (save.writer) {
    save.stage = at;
  } else {
    save.writer = run_.storage.begin(make_uuid());
    save.writer->copy(directory, upload.paths, progress);
  }
  return background_.begin(std::move(save));
}

std::unique_ptr<OpenCheckpoint> CheckpointSaver::begin(
    const std::optional<std::string> &metadata_json, bool sharded) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  if (sharded) return begin_sharded(metadata_json.value_or("{}"));
  check_rank(".store_path");
  background_.rethrow_failure("beginning a checkpoint");
  Json metadata = metadata_json ? metadata_from(*metadata_json, run_.master.most_steps()) : Json();
  std::shared_ptr<SaveStage> at = background_.stage();
  auto writer = at ? at->begin(make_uuid()) : run_.storage.begin(make_uuid());
  return std::make_unique<OpenCheckpoint>(run_, catalog_, background_, std::move(metadata), false,
                                          std::move(writer), std::move(at));
}

// Null where there is no more room, whatever the limit says: a save is not given up for that.
std::unique_ptr<storage::CheckpointWriter> CheckpointSaver::copy_staged(
    SaveStage &stage, const std::filesystem::path &directory,
    const std::optional<std::vector<std::string>> &paths, storage::Progress *progress) try {
  std::unique_ptr<storage::CheckpointWriter> writer = stage.begin(make_uuid());
  writer->copy(directory, paths, progress);
  return writer;
} catch (const Error &error) {
  if (error.code != Code::full) throw;
  run_.logger.warning("saving a checkpoint without staging it: ", error.what(),
                      "; lower limit_bytes of det_staging_options to what there is room for");
  return nullptr;
}

// On the chief, `writer` receives the owner's.
std::string CheckpointSaver::begin_writing(const comm::Call &call,
                                           std::unique_ptr<storage::CheckpointWriter> &writer) {
  return comm::chief_decides(run_.communicator, call, [&] {
    writer = run_.storage.begin(make_uuid());
    return writer->id();
  });
}

CheckpointSaver::Plan CheckpointSaver::plan_sharded(const comm::Call &call,
                                                    const fs::path &directory,
                                                    const std::string &metadata_json,
                                                    const storage::Selector &selector,
                                                    storage::Progress *progress) {
  const std::vector<Contribution> all = gather_contributions(run_.communicator, call, [&] {
    background_.rethrow_failure("uploading a checkpoint");
    return make_contribution(run_.communicator, directory, metadata_json,
                             static_cast<bool>(selector));
  });
  std::vector<Json> metadata_of_ranks;
  for (const Contribution &each : all) metadata_of_ranks.push_back(each.metadata);
  Plan plan{merged_metadata(run_.communicator, metadata_of_ranks, run_.master.most_steps())};
  plan.paths = settle_files(run_.communicator, call, directory, selector, all, progress);
  const auto rank = static_cast<size_t>(run_.communicator.ranks().rank);
  plan.stores = stores(all, rank);
  size_t first = 0;  // of the ranks that store something
  while (!stores(all, first)) ++first;
  plan.is_first = rank == first;
  if (plan.is_first) plan.paths.emplace_back(storage::metadata_name);
  return plan;
}

std::string CheckpointSaver::upload_sharded(const fs::path &directory,
                                            const std::string &metadata_json,
                                            const storage::Selector &selector,
                                            storage::Progress *progress) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_upload};
  background_.settle_together(call, progress);
  const Plan plan = plan_sharded(call, directory, metadata_json, selector, progress);
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  std::vector<std::string> finished = comm::all_agree(run_.communicator, call, [&] {
    std::string share;
    if (plan.is_first) write_metadata(directory, plan.metadata);
    if (plan.stores) {
      if (!writer) writer = run_.storage.join(id);
      writer->add(directory, plan.paths, progress);
      share = writer->finish({}, progress);
    }
    run_.train.delivery().give_way();  // the chief can only wait for its own
    return share;
  });
  return comm::chief_decides(run_.communicator, call, [&] {
    std::erase(finished, std::string());
    catalog_.publish(*writer, plan.metadata, finished, progress);
    return id;
  });
}

std::shared_ptr<SaveTicket> CheckpointSaver::upload_sharded_async(const fs::path &directory,
                                                                  const std::string &metadata_json,
                                                                  const storage::Selector &selector,
                                                                  storage::Progress *progress) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_upload_async};
  const Plan plan = plan_sharded(call, directory, metadata_json, selector, progress);
  BackgroundSaves::Save save{nullptr, plan.metadata};
  background_.make_room_together(
      call,
      [&] {
        if (plan.is_first) write_metadata(directory, plan.metadata);
        for (const std::string &path : plan.paths)
          if (!path.ends_with('/')) save.paths.push_back(path);
        return save.bytes = plan.stores ? bytes_of(directory, plan.paths) : 0;
      },
      progress);
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  comm::all_agree(run_.communicator, call, [&] {
    save.writer = writer ? std::move(writer) : run_.storage.join(id);
    return std::string();
  });
  return background_.begin_together(call, std::move(save), [&](BackgroundSaves::Save &into) {
    if (plan.stores) into.writer->copy(directory, plan.paths, progress);
  });
}

std::unique_ptr<OpenCheckpoint> CheckpointSaver::begin_sharded(const std::string &metadata_json) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_begin};
  Json own;
  const std::vector<Json> of_ranks = unpack_metadata(comm::all_agree(run_.communicator, call, [&] {
    background_.rethrow_failure("beginning a checkpoint");
    own = parse_json_object(metadata_json, "metadata_json");
    return pack(own);
  }));
  // What is wrong with it should be told before anything is written, but all of it may come later.
  const bool is_said = std::any_of(of_ranks.begin(), of_ranks.end(),
                                   [](const Json &metadata) { return !metadata.empty(); });
  if (is_said) merged_metadata(run_.communicator, of_ranks, run_.master.most_steps());
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  comm::all_agree(run_.communicator, call, [&] {
    if (!writer) writer = run_.storage.join(id);
    return std::string();
  });
  return std::make_unique<OpenCheckpoint>(run_, catalog_, background_, std::move(own), true,
                                          std::move(writer));
}

}  // namespace det::context
