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
                                 std::unique_ptr<storage::CheckpointWriter> writer)
    : context_(context),
      metadata_(std::move(metadata)),
      sharded_(sharded),
      is_shared_(!context.storage_.directory().empty()),
      id_(writer->id()),
      path_(writer->path().string()),
      writer_(std::move(writer)) {}

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
  if (!sharded_) check_metadata(metadata);
  const std::lock_guard guard(mutex_);
  check_open("describing");
  metadata_ = std::move(metadata);
}

void CheckpointStore::commit() {
  context_.gate_.check();
  const std::lock_guard guard(mutex_);
  check_open("committing");
  if (!sharded_ && metadata_.is_null())
    throw Error(Code::invalid, "committing checkpoint " + id_ +
                                   ": it has no metadata; give it with "
                                   "det_checkpoint_store_set_metadata()");
  state_ = State::failed;
  if (sharded_) {
    commit_sharded();
  } else {
    writer_->put(storage::metadata_name, to_metadata_text(metadata_));
    context_.publish(*writer_, metadata_, {});
  }
  state_ = State::committed;
}

void CheckpointStore::commit_sharded() try {
  comm::Communicator &communicator = context_.communicator_;
  const comm::Call call{comm::ApiCall::checkpoint_commit, id_};
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
  const Json metadata = merged_metadata(communicator, unpack_metadata(metadata_of_ranks));
  const comm::Ranks &ranks = communicator.ranks();
  const auto share = [&](int among) {
    storage::Resources files = writer_->list();
    for (const std::string &file : known) files.erase(file);
    return pack(share_out(files, static_cast<size_t>(among)));
  };
  std::string shares = comm::chief_decides(communicator, call, [&] {
    writer_->put(storage::metadata_name, to_metadata_text(metadata));
    return is_shared_ ? share(ranks.size) : std::string();
  });
  std::exception_ptr failure;  // of this machine, for all the others to know
  if (!is_shared_) try {
      shares =
          comm::local_chief_decides(communicator, call, [&] { return share(ranks.local_size); });
    } catch (...) {
      failure = std::current_exception();
    }
  const std::vector<std::string> finished = comm::all_agree(communicator, call, [&] {
    if (failure) std::rethrow_exception(failure);
    auto mine = unpack(shares, "what each rank finishes")
                    .at(static_cast<size_t>(is_shared_ ? ranks.rank : ranks.local_rank))
                    .get<std::vector<std::string>>();
    mine.insert(mine.end(), known_.begin(), known_.end());
    std::string finished_here = writer_->finish(mine);
    context_.train_.give_way_to_reports();  // the chief can only wait for its own
    return finished_here;
  });
  comm::chief_decides(communicator, call, [&] {
    context_.publish(*writer_, metadata, finished);
    return std::string();
  });
} catch (...) {
  try {
    writer_->abort();
  } catch (const Error &) {
    // What went wrong first is what the caller should know.
  }
  throw;
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
  writer_->abort();
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
