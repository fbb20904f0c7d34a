#include "core/context/checkpoint/open_checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint/checkpoint_metadata.h"
#include "core/context/checkpoint/joint_upload.h"
#include "core/context/train.h"
#include "core/storage/tree.h"
#include "core/tensors/file_writer.h"
#include "core/tensors/reader.h"
#include "core/tensors/shard_plan.h"
#include "core/tensors/sharding.h"

namespace det::context {

namespace fs = std::filesystem;
using tensors::Tensor;

namespace {

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
                              const tensors::FileMetadata &metadata, storage::Progress *progress) {
  make_parent(root, name);
  return tensors::write_file(storage::Tree(root), name, given, metadata, true, progress);
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

OpenCheckpoint::OpenCheckpoint(const RunParts &run, CheckpointCatalog &catalog,
                               BackgroundSaves &background, Json metadata, bool sharded,
                               std::unique_ptr<storage::CheckpointWriter> writer,
                               std::shared_ptr<SaveStage> stage)
    : run_(run),
      catalog_(catalog),
      background_(background),
      metadata_(std::move(metadata)),
      sharded_(sharded),
      is_shared_(!run.storage.directory().empty()),
      id_(writer->id()),
      path_(writer->path().string()),
      writer_(std::move(writer)),
      stage_(std::move(stage)) {}

OpenCheckpoint::~OpenCheckpoint() {
  // A forked child shares the parent's files and must leave them alone.
  if (run_.lifetime.in_child()) static_cast<void>(writer_.release());
  else if (state_ == State::open) tell_aborted();
}

void OpenCheckpoint::check_open(const char *tried) const {
  if (state_ != State::open)
    throw Error(Code::state, tried + (" checkpoint " + id_) + ": it was " +
                                 (state_ == State::committed ? "committed" : "aborted") +
                                 " before; begin a new one");
}

void OpenCheckpoint::set_metadata(const std::string &metadata_json) {
  run_.lifetime.check();
  Json metadata = parse_json_object(metadata_json, "metadata_json");
  if (!sharded_) check_metadata(metadata, run_.master.most_steps());
  const std::lock_guard guard(mutex_);
  check_open("describing");
  metadata_ = std::move(metadata);
}

void OpenCheckpoint::write_tensors(const std::string &name, const std::vector<Tensor> &given,
                                   const tensors::FileMetadata &metadata,
                                   storage::Progress *progress) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const std::lock_guard guard(mutex_);
  check_open("writing tensors into");
  if (sharded_) return write_shards(name, given, metadata, progress);
  check_request(name, given);
  for (const Tensor &tensor : given)
    if (!tensor.is_whole())
      throw Error(Code::invalid, "writing tensor " + tensors::quoted_name(tensor.name) +
                                     ": it is a part, " + tensors::text_of(tensor.region) + " of " +
                                     tensors::text_of(tensor.whole) +
                                     "; begin the checkpoint with `shard` to write those of all "
                                     "ranks");
  writer_->know(write_own(path_, name, given, metadata, progress));
}

void OpenCheckpoint::write_shards(const std::string &name, const std::vector<Tensor> &given,
                                  tensors::FileMetadata metadata, storage::Progress *progress) {
  comm::Communicator &communicator = run_.communicator;
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
      written = write_own(path_, file, own, metadata, progress);
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

// With the mutex held. From here on it is committed, or cannot be any more.
void OpenCheckpoint::begin_commit() {
  check_open("committing");
  if (!sharded_ && metadata_.is_null())
    throw Error(Code::invalid, "committing checkpoint " + id_ +
                                   ": it has no metadata; give it with "
                                   "det_checkpoint_writer_set_metadata()");
  state_ = State::failed;
}

void OpenCheckpoint::commit(storage::Progress *progress) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const std::lock_guard guard(mutex_);
  begin_commit();
  if (sharded_) {
    commit_sharded(progress);
  } else {
    background_.settle(progress);
    writer_->put(storage::metadata_name, to_metadata_text(metadata_));
    if (stage_) background_.publish_staged(*writer_, *stage_, metadata_, progress);
    else catalog_.publish(*writer_, metadata_, {}, progress);
  }
  state_ = State::committed;
}

std::shared_ptr<SaveTicket> OpenCheckpoint::commit_async(storage::Progress *progress) {
  run_.lifetime.check();
  const profiler::LibraryCall timed(run_.train.regions());
  const std::lock_guard guard(mutex_);
  const auto turn = background_.take_turn();
  if (!sharded_) {
    check_open("committing");
    // First: where it is refused, the commit can be tried again.
    background_.make_room(bytes(), SaveStage::Bytes::are_there, progress);
  }
  begin_commit();
  std::shared_ptr<SaveTicket> ticket;
  if (sharded_) {
    ticket = commit_sharded_async(progress);
  } else {
    writer_->put(storage::metadata_name, to_metadata_text(metadata_));
    const uint64_t size = bytes();
    ticket = background_.begin({std::move(writer_), metadata_, {}, size, stage_});
  }
  state_ = State::committed;
  return ticket;
}

uint64_t OpenCheckpoint::bytes() const {
  uint64_t bytes = 0;
  for (const auto &[path, size] : writer_->list()) bytes += size;
  return bytes;
}

OpenCheckpoint::Prepared OpenCheckpoint::prepare_sharded(const comm::Call &call) {
  comm::Communicator &communicator = run_.communicator;
  Prepared prepared;
  // From here on nobody writes into the directory any more.
  std::vector<std::string> metadata_of_ranks;
  std::set<std::string> known;
  for (const std::string &told : comm::all_agree(communicator, call, [&] {
         return pack(Json::array({pack(metadata_), known_}));
       })) {
    const Json of_rank = unpack(told, "what a rank says of its checkpoint");
    metadata_of_ranks.push_back(of_rank.at(0));
    known.insert(of_rank.at(1).begin(), of_rank.at(1).end());
  }
  prepared.metadata =
      merged_metadata(communicator, unpack_metadata(metadata_of_ranks), run_.master.most_steps());
  const comm::Ranks &ranks = communicator.ranks();
  const auto share = [&](int among) {
    storage::Resources files = writer_->list();
    for (const std::string &file : known) files.erase(file);
    return pack(share_out(files, static_cast<size_t>(among)));
  };
  prepared.shares = comm::chief_decides(communicator, call, [&] {
    writer_->put(storage::metadata_name, to_metadata_text(prepared.metadata));
    return is_shared_ ? share(ranks.size) : std::string();
  });
  if (!is_shared_) try {
      prepared.shares =
          comm::local_chief_decides(communicator, call, [&] { return share(ranks.local_size); });
    } catch (...) {
      prepared.failure = std::current_exception();
    }
  return prepared;
}

std::vector<std::string> OpenCheckpoint::own_share(const Prepared &prepared) const {
  if (prepared.failure) std::rethrow_exception(prepared.failure);
  const comm::Ranks &ranks = run_.communicator.ranks();
  auto mine = unpack(prepared.shares, "what each rank finishes")
                  .at(static_cast<size_t>(is_shared_ ? ranks.rank : ranks.local_rank))
                  .get<std::vector<std::string>>();
  mine.insert(mine.end(), known_.begin(), known_.end());
  return mine;
}

void OpenCheckpoint::commit_sharded(storage::Progress *progress) try {
  comm::Communicator &communicator = run_.communicator;
  const comm::Call call{comm::ApiCall::checkpoint_commit, id_};
  background_.settle_together(call, progress);
  const Prepared prepared = prepare_sharded(call);
  const std::vector<std::string> finished = comm::all_agree(communicator, call, [&] {
    std::string share = writer_->finish(own_share(prepared), progress);
    run_.train.delivery().give_way();  // the chief can only wait for its own
    return share;
  });
  comm::chief_decides(communicator, call, [&] {
    catalog_.publish(*writer_, prepared.metadata, finished, progress);
    return std::string();
  });
} catch (...) {
  drop();
  throw;
}

std::shared_ptr<SaveTicket> OpenCheckpoint::commit_sharded_async(storage::Progress *progress) try {
  // What a rank that aborts instead takes part in.
  const comm::Call call{comm::ApiCall::checkpoint_commit, id_};
  const Prepared prepared = prepare_sharded(call);
  const bool is_chief = run_.communicator.is_chief();
  uint64_t size = 0;
  background_.make_room_together(
      call, [&] { return size = is_chief ? bytes() : 0; }, progress);
  return background_.begin_together(
      call, {std::move(writer_), prepared.metadata, {}, size},
      [&](BackgroundSaves::Save &save) { save.paths = own_share(prepared); });
} catch (...) {
  drop();
  throw;
}

// What went wrong first is what the caller should know.
void OpenCheckpoint::drop() {
  if (writer_) try {
      writer_->abort();
    } catch (const Error &) {
    }
}

void OpenCheckpoint::abort() {
  if (run_.lifetime.in_child()) run_.lifetime.check();
  const std::lock_guard guard(mutex_);
  if (state_ == State::committed)
    throw Error(Code::state, "aborting checkpoint " + id_ +
                                 ": it was committed before; det_checkpoint_delete() removes it");
  if (state_ == State::aborted) return;
  if (state_ == State::open) tell_aborted();
  state_ = State::failed;
  if (writer_) writer_->abort();
  state_ = State::aborted;
}

// Takes part in the others' commit, as an error. A core that is closed has no others any more.
void OpenCheckpoint::tell_aborted() {
  if (!sharded_ || !run_.lifetime.open()) return;
  try {
    comm::all_agree(
        run_.communicator, {comm::ApiCall::checkpoint_commit, id_}, [this]() -> std::string {
          throw Error(Code::state, "committing checkpoint " + id_ + ": it was aborted here");
        });
  } catch (...) {
    // The one above, or nobody is left to tell.
  }
}

}  // namespace det::context
