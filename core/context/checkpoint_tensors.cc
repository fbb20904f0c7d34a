// Tensors of one rank, or of all together, into a checkpoint that is being written.
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"
#include "core/context/train.h"
#include "core/tensors/file_writer.h"
#include "core/tensors/reader.h"
#include "core/tensors/shard_plan.h"
#include "core/tensors/sharding.h"

namespace det::context {

namespace fs = std::filesystem;
using tensors::Tensor;

namespace {

constexpr const char *state_file = "state.safetensors", *steps_completed = "steps_completed";

void check_request(const std::string &name, const std::vector<Tensor> &given) {
  if (!storage::is_plain_path(name) || !name.ends_with(tensors::file_ending))
    throw Error(Code::invalid, "writing tensors into " + tensors::quoted_name(name) +
                                   ": give the name of a file in the checkpoint that ends in '" +
                                   tensors::file_ending + "'");
  for (const Tensor &tensor : given) tensors::check(tensor);
  tensors::check_names(given);
}

void make_parent(const fs::path &root, const std::string &name) {
  if (const fs::path parent = fs::path(name).parent_path(); !parent.empty())
    make_directories(root / parent);
}

storage::HashedFile write_own(const fs::path &root, const std::string &name,
                              const std::vector<Tensor> &given,
                              const tensors::FileMetadata &metadata) {
  make_parent(root, name);
  return tensors::write_file(storage::Tree(root), name, given, metadata);
}

// What each rank writes, and into which file: those that write nothing have none.
struct Sharing {
  std::vector<std::vector<tensors::TensorPart>> of_ranks;
  std::vector<std::vector<size_t>> plan;
  std::vector<std::string> files;

  std::vector<const tensors::TensorPart *> parts(size_t rank) const {
    std::vector<const tensors::TensorPart *> parts;
    for (const size_t index : plan[rank]) parts.push_back(&of_ranks[rank][index]);
    return parts;
  }
};

Sharing share(const std::string &name, const std::vector<std::string> &listings) {
  Sharing sharing;
  for (const std::string &listing : listings)
    sharing.of_ranks.push_back(tensors::unpack_parts(listing));
  sharing.plan = tensors::plan_shards(sharing.of_ranks);
  size_t count = 0, number = 0;
  for (const auto &parts : sharing.plan) count += parts.empty() ? 0 : 1;
  for (size_t rank = 0; rank < listings.size(); ++rank) {
    // Without any tensor, there is an empty file all the same.
    if (count <= 1)
      sharing.files.push_back(!sharing.plan[rank].empty() || (count == 0 && rank == 0) ? name : "");
    else if (sharing.plan[rank].empty()) sharing.files.emplace_back();
    else sharing.files.push_back(tensors::sharded_name(name, number++, count));
  }
  return sharing;
}

// What ranks have alike is written once, and so has to be the same.
void compare_shared(comm::Communicator &communicator, const comm::Call &call,
                    const Sharing &sharing, const std::vector<Tensor> &given) {
  const auto shared = tensors::shared_parts(sharing.of_ranks);
  if (std::ranges::all_of(shared, [](const auto &of_rank) { return of_rank.empty(); })) return;
  const std::vector<std::string> told = comm::all_agree(communicator, call, [&] {
    std::vector<const Tensor *> own;
    for (const size_t index : shared[static_cast<size_t>(communicator.ranks().rank)])
      own.push_back(&given[index]);
    return pack(tensors::checksums_of(own));
  });
  std::vector<std::vector<uint64_t>> sums;
  for (const std::string &of_rank : told)
    sums.push_back(unpack(of_rank, "the checksums of a rank").get<std::vector<uint64_t>>());
  tensors::check_shared(sharing.of_ranks, sums);
}

std::string index_of(const Sharing &sharing) {
  std::vector<tensors::ShardFile> files;
  for (size_t rank = 0; rank < sharing.files.size(); ++rank)
    if (!sharing.files[rank].empty())
      files.push_back({fs::path(sharing.files[rank]).filename(), sharing.parts(rank)});
  return files.size() > 1 ? tensors::format_index(files) : "";
}

}  // namespace

void CheckpointStore::write_tensors(const std::string &name, const std::vector<Tensor> &given,
                                    const tensors::FileMetadata &metadata) {
  context_.gate_.check();
  const profiler::LibraryCall timed(context_.train_.regions());
  const std::lock_guard guard(mutex_);
  check_open("writing tensors into");
  if (sharded_) return write_shards(name, given, metadata);
  check_request(name, given);
  for (const Tensor &tensor : given)
    if (!tensor.is_whole())
      throw Error(Code::invalid, "writing tensor " + tensors::quoted_name(tensor.name) +
                                     ": it is a part, " + tensors::text_of(tensor.region) + " of " +
                                     tensors::text_of(tensor.whole) +
                                     "; begin the checkpoint with `shard` to write those of all "
                                     "ranks");
  writer_->know(write_own(path_, name, given, metadata));
}

void CheckpointStore::write_shards(const std::string &name, const std::vector<Tensor> &given,
                                   tensors::FileMetadata metadata) {
  comm::Communicator &communicator = context_.communicator_;
  const comm::Call call{comm::ApiCall::tensors_write, name};
  const Sharing sharing = share(name, comm::all_agree(communicator, call, [&] {
                                  check_request(name, given);
                                  return tensors::pack_parts(given);
                                }));
  compare_shared(communicator, call, sharing, given);
  const auto rank = static_cast<size_t>(communicator.ranks().rank);
  const std::string &file = sharing.files[rank];
  std::vector<Tensor> own;
  for (const size_t index : sharing.plan[rank]) own.push_back(given[index]);
  std::optional<storage::HashedFile> written;
  try {
    comm::all_agree(communicator, call, [&] {
      if (file.empty()) return std::string();
      if (file != name) tensors::add_sharding(metadata, sharing.parts(rank));
      written = write_own(path_, file, own, metadata);
      return std::string();
    });
    comm::chief_decides(communicator, call, [&] {
      const std::string index = index_of(sharing);
      if (index.empty()) return std::string();
      make_parent(path_, name);
      writer_->put(name + tensors::index_ending, index);
      return std::string();
    });
  } catch (...) {
    if (written) unlink((path_ / fs::path(file)).c_str());
    throw;
  }
  if (!written) return;
  writer_->know(*written);
  known_.push_back(file);
}

std::string CheckpointContext::save_state(int64_t steps, const std::vector<Tensor> &buffers) {
  const auto store =
      begin_store(to_wire(Json{{steps_completed, steps}}), communicator_.ranks().size > 1);
  store->write_tensors(state_file, buffers, {});
  store->commit();
  return store->id();
}

int64_t CheckpointContext::load_state(const std::optional<std::string> &id,
                                      const std::vector<Tensor> &buffers) {
  gate_.check();
  const std::optional<std::string> from = id ? id : master_.info().latest_checkpoint;
  if (!from) return 0;
  const auto reader = begin_restore(*from, {});
  tensors::Reader(storage::Tree(reader->path()), state_file, true).read(buffers);
  return metadata(*from).at(steps_completed).get<int64_t>();
}

}  // namespace det::context
