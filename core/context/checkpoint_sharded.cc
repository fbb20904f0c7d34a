// Saving by all ranks together. Every step between two of their collectives is one of
// core/comm/agreement.h, so that what fails on one rank fails on all.
#include <algorithm>
#include <utility>

#include "core/base/uuid.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"
#include "core/context/checkpoint_contribution.h"
#include "core/context/checkpoint_metadata.h"
#include "core/context/train.h"
#include "core/storage/tree.h"

namespace det::context {

namespace fs = std::filesystem;

// On the chief, `writer` receives the owner's.
std::string CheckpointContext::begin_writing(const comm::Call &call,
                                             std::unique_ptr<storage::CheckpointWriter> &writer) {
  return comm::chief_decides(communicator_, call, [&] {
    writer = storage_.begin(make_uuid());
    return writer->id();
  });
}

CheckpointContext::Plan CheckpointContext::plan_sharded(const comm::Call &call,
                                                        const fs::path &directory,
                                                        const std::string &metadata_json,
                                                        const storage::Selector &selector) {
  const std::vector<Contribution> all = gather_contributions(communicator_, call, [&] {
    saves_.rethrow_failure("uploading a checkpoint");
    return make_contribution(communicator_, directory, metadata_json, static_cast<bool>(selector));
  });
  std::vector<Json> metadata_of_ranks;
  for (const Contribution &each : all) metadata_of_ranks.push_back(each.metadata);
  Plan plan{merged_metadata(communicator_, metadata_of_ranks, master_.most_steps())};
  plan.paths = settle_files(communicator_, call, directory, selector, all);
  const auto rank = static_cast<size_t>(communicator_.ranks().rank);
  plan.stores = stores(all, rank);
  size_t first = 0;  // of the ranks that store something
  while (!stores(all, first)) ++first;
  plan.is_first = rank == first;
  if (plan.is_first) plan.paths.emplace_back(storage::metadata_name);
  return plan;
}

std::string CheckpointContext::upload_sharded(const fs::path &directory,
                                              const std::string &metadata_json,
                                              const storage::Selector &selector) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_upload};
  settle_earlier_saves_together(call);
  const Plan plan = plan_sharded(call, directory, metadata_json, selector);
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  std::vector<std::string> finished = comm::all_agree(communicator_, call, [&] {
    std::string share;
    if (plan.is_first) write_metadata(directory, plan.metadata);
    if (plan.stores) {
      if (!writer) writer = storage_.join(id);
      writer->add(directory, plan.paths);
      share = writer->finish({});
    }
    train_.give_way_to_reports();  // the chief can only wait for its own
    return share;
  });
  return comm::chief_decides(communicator_, call, [&] {
    std::erase(finished, std::string());
    publish(*writer, plan.metadata, finished);
    return id;
  });
}

std::shared_ptr<SaveTicket> CheckpointContext::upload_sharded_async(
    const fs::path &directory, const std::string &metadata_json,
    const storage::Selector &selector) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_upload_async};
  const Plan plan = plan_sharded(call, directory, metadata_json, selector);
  Save save{nullptr, plan.metadata};
  make_room_together(call, [&] {
    if (plan.is_first) write_metadata(directory, plan.metadata);
    for (const std::string &path : plan.paths)
      if (!path.ends_with('/')) save.paths.push_back(path);
    return save.bytes = plan.stores ? bytes_of(directory, plan.paths) : 0;
  });
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  comm::all_agree(communicator_, call, [&] {
    save.writer = writer ? std::move(writer) : storage_.join(id);
    return std::string();
  });
  return begin_save_together(call, std::move(save), [&](Save &into) {
    if (plan.stores) into.writer->copy(directory, plan.paths);
  });
}

std::unique_ptr<CheckpointStore> CheckpointContext::begin_sharded(
    const std::string &metadata_json) {
  constexpr comm::Call call{comm::ApiCall::checkpoint_begin};
  Json own;
  const std::vector<Json> of_ranks = unpack_metadata(comm::all_agree(communicator_, call, [&] {
    saves_.rethrow_failure("beginning a checkpoint");
    own = parse_json_object(metadata_json, "metadata_json");
    return pack(own);
  }));
  // What is wrong with it should be told before anything is written, but all of it may come later.
  const bool is_said = std::any_of(of_ranks.begin(), of_ranks.end(),
                                   [](const Json &metadata) { return !metadata.empty(); });
  if (is_said) merged_metadata(communicator_, of_ranks, master_.most_steps());
  std::unique_ptr<storage::CheckpointWriter> writer;
  const std::string id = begin_writing(call, writer);
  comm::all_agree(communicator_, call, [&] {
    if (!writer) writer = storage_.join(id);
    return std::string();
  });
  return std::unique_ptr<CheckpointStore>(
      new CheckpointStore(*this, std::move(own), true, std::move(writer)));
}

}  // namespace det::context
