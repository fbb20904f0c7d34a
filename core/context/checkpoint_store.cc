#include <exception>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/comm/agreement.h"
#include "core/context/checkpoint.h"
#include "core/context/checkpoint_contribution.h"
#include "core/context/checkpoint_merge.h"
#include "core/context/checkpoint_metadata.h"
#include "core/context/train.h"
#include "core/storage/tree.h"

namespace det::context {

CheckpointStore::CheckpointStore(CheckpointContext &context, Json metadata, bool sharded,
                                 std::unique_ptr<storage::CheckpointWriter> writer,
                                 std::shared_ptr<SaveStage> stage)
    : context_(context),
      metadata_(std::move(metadata)),
      sharded_(sharded),
      is_shared_(!context.storage_.directory().empty()),
      id_(writer->id()),
      path_(writer->path().string()),
      writer_(std::move(writer)),
      stage_(std::move(stage)) {}

CheckpointStore::~CheckpointStore() {
  // A forked child shares the parent's files and must leave them alone.
  if (context_.gate_.in_child()) static_cast<void>(writer_.release());
  else if (state_ == State::open) tell_aborted();
}

void CheckpointStore::check_open(const char *tried) const {
  if (state_ != State::open)
    throw Error(Code::state, tried + (" checkpoint " + id_) + ": it was " +
                                 (state_ == State::committed ? "committed" : "aborted") +
                                 " before; begin a new one");
}

void CheckpointStore::set_metadata(const std::string &metadata_json) {
  context_.gate_.check();
  Json metadata = parse_json_object(metadata_json, "metadata_json");
  if (!sharded_) check_metadata(metadata, context_.master_.most_steps());
  const std::lock_guard guard(mutex_);
  check_open("describing");
  metadata_ = std::move(metadata);
}

// With the mutex held. From here on it is committed, or cannot be any more.
void CheckpointStore::begin_commit() {
  check_open("committing");
  if (!sharded_ && metadata_.is_null())
    throw Error(Code::invalid, "committing checkpoint " + id_ +
                                   ": it has no metadata; give it with "
                                   "det_checkpoint_store_set_metadata()");
  state_ = State::failed;
}

void CheckpointStore::commit() {
  context_.gate_.check();
  const profiler::LibraryCall timed(context_.train_.regions());
  const std::lock_guard guard(mutex_);
  begin_commit();
  if (sharded_) {
    commit_sharded();
  } else {
    context_.settle_earlier_saves();
    writer_->put(storage::metadata_name, to_metadata_text(metadata_));
    if (stage_) context_.publish_staged(*writer_, *stage_, metadata_);
    else context_.publish(*writer_, metadata_, {});
  }
  state_ = State::committed;
}

std::shared_ptr<SaveTicket> CheckpointStore::commit_async() {
  context_.gate_.check();
  const profiler::LibraryCall timed(context_.train_.regions());
  const std::lock_guard guard(mutex_);
  const std::lock_guard asking(context_.asking_);
  if (!sharded_) {
    check_open("committing");
    // First: where it is refused, the commit can be tried again.
    context_.make_room(bytes(), SaveStage::Bytes::are_there);
  }
  begin_commit();
  std::shared_ptr<SaveTicket> ticket;
  if (sharded_) {
    ticket = commit_sharded_async();
  } else {
    writer_->put(storage::metadata_name, to_metadata_text(metadata_));
    const uint64_t size = bytes();
    ticket = context_.begin_save({std::move(writer_), metadata_, {}, size, stage_});
  }
  state_ = State::committed;
  return ticket;
}

uint64_t CheckpointStore::bytes() const {
  uint64_t bytes = 0;
  for (const auto &[path, size] : writer_->list()) bytes += size;
  return bytes;
}

CheckpointStore::Prepared CheckpointStore::prepare_sharded(const comm::Call &call) {
  comm::Communicator &communicator = context_.communicator_;
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
  prepared.metadata = merged_metadata(communicator, unpack_metadata(metadata_of_ranks),
                                      context_.master_.most_steps());
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

std::vector<std::string> CheckpointStore::own_share(const Prepared &prepared) const {
  if (prepared.failure) std::rethrow_exception(prepared.failure);
  const comm::Ranks &ranks = context_.communicator_.ranks();
  auto mine = unpack(prepared.shares, "what each rank finishes")
                  .at(static_cast<size_t>(is_shared_ ? ranks.rank : ranks.local_rank))
                  .get<std::vector<std::string>>();
  mine.insert(mine.end(), known_.begin(), known_.end());
  return mine;
}

void CheckpointStore::commit_sharded() try {
  comm::Communicator &communicator = context_.communicator_;
  const comm::Call call{comm::ApiCall::checkpoint_commit, id_};
  context_.settle_earlier_saves_together(call);
  const Prepared prepared = prepare_sharded(call);
  const std::vector<std::string> finished = comm::all_agree(communicator, call, [&] {
    std::string share = writer_->finish(own_share(prepared));
    context_.train_.give_way_to_reports();  // the chief can only wait for its own
    return share;
  });
  comm::chief_decides(communicator, call, [&] {
    context_.publish(*writer_, prepared.metadata, finished);
    return std::string();
  });
} catch (...) {
  drop();
  throw;
}

std::shared_ptr<SaveTicket> CheckpointStore::commit_sharded_async() try {
  // What a rank that aborts instead takes part in.
  const comm::Call call{comm::ApiCall::checkpoint_commit, id_};
  const Prepared prepared = prepare_sharded(call);
  const bool is_chief = context_.communicator_.is_chief();
  uint64_t size = 0;
  context_.make_room_together(call, [&] { return size = is_chief ? bytes() : 0; });
  return context_.begin_save_together(
      call, {std::move(writer_), prepared.metadata, {}, size},
      [&](CheckpointContext::Save &save) { save.paths = own_share(prepared); });
} catch (...) {
  drop();
  throw;
}

// What went wrong first is what the caller should know.
void CheckpointStore::drop() {
  if (writer_) try {
      writer_->abort();
    } catch (const Error &) {
    }
}

void CheckpointStore::abort() {
  if (context_.gate_.in_child()) context_.gate_.check();
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
void CheckpointStore::tell_aborted() {
  if (!sharded_ || !context_.gate_.open()) return;
  try {
    comm::all_agree(
        context_.communicator_, {comm::ApiCall::checkpoint_commit, id_}, [this]() -> std::string {
          throw Error(Code::state, "committing checkpoint " + id_ + ": it was aborted here");
        });
  } catch (...) {
    // The one above, or nobody is left to tell.
  }
}

}  // namespace det::context
