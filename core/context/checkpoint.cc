#include "core/context/checkpoint.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/context/checkpoint_contribution.h"
#include "core/context/checkpoint_metadata.h"
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

// No answer came, or none of the master's own.
bool may_be_known(const Error &error) {
  return error.code == Code::unavailable || error.code == Code::timeout ||
         error.code == Code::access || error.http_status != 0;
}

bool may_be_taken_later(const Error &error) {
  return is_passing(error.code) || error.code == Code::full || error.code == Code::access;
}

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

CheckpointContext::CheckpointContext(const Gate &gate, comm::Communicator &communicator,
                                     master::Master &master, storage::Storage &storage,
                                     TrainContext &train, Logger &logger)
    : gate_(gate),
      communicator_(communicator),
      master_(master),
      storage_(storage),
      train_(train),
      logger_(logger),
      removals_([this](const auto &one) { remove_one_superseded(one); },
                [this] { storage_.reclaim(); }) {
  storage_.serve(master_.info().cluster_id);
}

void CheckpointContext::check_rank(const char *call) const {
  if (communicator_.is_chief()) return;
  throw Error(Code::state, std::string("calling ") + call + " on non-chief rank " +
                               std::to_string(communicator_.ranks().rank) +
                               ": without shard only rank 0 saves");
}

std::string CheckpointContext::upload(const fs::path &directory, const std::string &metadata_json,
                                      bool sharded, const storage::Selector &selector) {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  if (sharded) return upload_sharded(directory, metadata_json, selector);
  check_rank("upload");
  settle_earlier_saves();
  saves_.rethrow_failure("uploading a checkpoint");
  const Upload upload = read_upload(directory, metadata_json, selector, master_.most_steps());
  std::string id = make_uuid();
  const std::unique_ptr<storage::CheckpointWriter> writer = storage_.begin(id);
  writer->add(directory, upload.paths);
  publish(*writer, upload.metadata, {});
  return id;
}

std::shared_ptr<SaveTicket> CheckpointContext::upload_async(const fs::path &directory,
                                                            const std::string &metadata_json,
                                                            bool sharded,
                                                            const storage::Selector &selector) {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  const std::lock_guard guard(asking_);
  if (sharded) return upload_sharded_async(directory, metadata_json, selector);
  check_rank("upload");
  const Upload upload = read_upload(directory, metadata_json, selector, master_.most_steps());
  const uint64_t bytes = bytes_of(directory, upload.paths);
  make_room(bytes, SaveStage::Bytes::come);
  saves_.rethrow_failure("uploading a checkpoint");
  const std::shared_ptr<SaveStage> at = stage();
  Save save{at ? copy_staged(*at, directory, upload.paths) : nullptr, upload.metadata, {}, bytes};
  if (save.writer) {
    save.stage = at;
  } else {
    save.writer = storage_.begin(make_uuid());
    save.writer->copy(directory, upload.paths);
  }
  return begin_save(std::move(save));
}

std::unique_ptr<CheckpointStore> CheckpointContext::begin_store(
    const std::optional<std::string> &metadata_json, bool sharded) {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  if (sharded) return begin_sharded(metadata_json.value_or("{}"));
  check_rank(".store_path");
  saves_.rethrow_failure("beginning a checkpoint");
  Json metadata = metadata_json ? metadata_from(*metadata_json, master_.most_steps()) : Json();
  std::shared_ptr<SaveStage> at = stage();
  auto writer = at ? at->begin(make_uuid()) : storage_.begin(make_uuid());
  return std::unique_ptr<CheckpointStore>(
      new CheckpointStore(*this, std::move(metadata), false, std::move(writer), std::move(at)));
}

std::vector<engine::CheckpointEntry> CheckpointContext::list() {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  std::vector<engine::CheckpointEntry> all = master_.checkpoints();
  const std::lock_guard lock(waiting_mutex_);
  for (const auto &each : waiting_) {
    const engine::CheckpointReport &report = each.second;
    const auto is_it = [&](const engine::CheckpointEntry &entry) { return entry.id == report.id; };
    if (std::any_of(all.begin(), all.end(), is_it)) continue;
    engine::CheckpointEntry entry{report.id, report.metadata.at("steps_completed").get<int64_t>()};
    for (const auto &[path, bytes] : report.resources) entry.size += static_cast<int64_t>(bytes);
    const auto has_fewer = [&](const engine::CheckpointEntry &other) {
      return other.steps <= entry.steps;
    };
    all.insert(std::find_if(all.begin(), all.end(), has_fewer), std::move(entry));
  }
  return all;
}

void CheckpointContext::publish(storage::CheckpointWriter &writer, const Json &metadata,
                                const std::vector<std::string> &shares, SaveTicket *ticket) {
  engine::CheckpointReport report{writer.id(), metadata, {}, storage_.config()};
  report.resources = writer.commit(shares);  // from here on it is visible
  if (ticket != nullptr) try {
      ticket->settle();
    } catch (const Error &) {
      writer.abort();
      throw;
    }
  const bool in_order = train_.give_way_to_reports();
  try {
    master_.report_checkpoint(report);
  } catch (const std::exception &failure) {
    publish_later(writer, report, as_error(failure));
    return;
  }
  writer.announced();
  logger_.info("saved checkpoint ", writer.id());
  // Validations that are on their way may make another one the best.
  if (in_order) remove_superseded(begun_from());
  has_saved_ = true;
}

// What ranks of other machines may still read.
std::set<std::string> CheckpointContext::begun_from() const {
  const std::optional<std::string> &begun = master_.info().latest_checkpoint;
  return begun && communicator_.ranks().size > 1 ? std::set{*begun} : std::set<std::string>{};
}

// The checkpoint that was saved is safe, whatever becomes of these.
void CheckpointContext::remove_superseded(std::set<std::string> held) noexcept try {
  held.merge(removals_.pending());
  {
    const std::lock_guard lock(unremovable_mutex_);
    held.insert(unremovable_.begin(), unremovable_.end());
  }
  const std::lock_guard lock(held_->mutex);  // nobody begins to read meanwhile
  held.insert(held_->ids.begin(), held_->ids.end());
  removals_.add(master_.withdraw_superseded(held));
} catch (const std::exception &failure) {
  logger_.warning("deleting checkpoints that are not kept: ", failure.what(),
                  "; the next save tries again");
}

// What somebody else has begun to delete may lack files.
void CheckpointContext::remove_one_superseded(const engine::WithdrawnCheckpoint &one) try {
  const std::string &id = one.id;
  if (const std::shared_ptr<SaveStage> at = stage()) at->drop(id);
  try {
    storage_.withdraw(id);
  } catch (const Error &) {
    if (one.was_complete) master_.reinstate_checkpoint(id);
    throw;
  }
  remove_withdrawn(id, one.was_complete);
  master_.checkpoint_deleted(id);
  storage_.settle(id);
  logger_.debug("deleted checkpoint ", id, ", which is not kept");
} catch (const std::exception &failure) {
  const std::lock_guard lock(unremovable_mutex_);
  unremovable_.insert(one.id);
  logger_.warning("deleting checkpoint ", one.id, ", which is not kept: ", failure.what());
}

bool CheckpointContext::finish_removals(bool decides, std::chrono::milliseconds limit) {
  if (decides && has_saved_) remove_superseded({});
  if (removals_.await_all(limit)) return true;
  logger_.warning(
      "deleting checkpoints that are not kept: the storage takes too long; the next "
      "start of the trial deletes what is left");
  return false;
}

std::shared_ptr<void> CheckpointContext::hold(const std::string &id) {
  struct Hold {
    Hold(std::shared_ptr<Held> all, const std::string &id) : held(std::move(all)) {
      const std::lock_guard lock(held->mutex);
      place = held->ids.insert(id);
    }
    ~Hold() {
      const std::lock_guard lock(held->mutex);
      held->ids.erase(place);
    }
    Hold(const Hold &) = delete;
    Hold &operator=(const Hold &) = delete;

    std::shared_ptr<Held> held;
    decltype(Held::ids)::iterator place;
  };
  return std::make_shared<Hold>(held_, id);
}

// The bytes are safe: nothing that passes makes them be given up.
void CheckpointContext::publish_later(storage::CheckpointWriter &writer,
                                      const engine::CheckpointReport &report, const Error &reason) {
  const std::string &id = report.id;
  try {
    if (may_be_taken_later(reason) && keep(report)) {
      writer.announced();
      logger_.warning("saved checkpoint ", id,
                      ", and the master is told of it later: ", reason.what());
      return;
    }
  } catch (const std::exception &failure) {
    writer.announced();
    const Error unkept = as_error(failure);
    throw Error(unkept.code,
                "reporting checkpoint " + id + ", which is safe in storage: " + reason.what() +
                    "; keeping the report for later: " + unkept.what(),
                unkept.os_errno, reason.http_status);
  }
  if (!may_be_known(reason)) {
    writer.abort();
    throw reason;
  }
  writer.announced();  // files that nobody knows do less harm than a checkpoint without files
  throw Error(reason.code,
              std::string(reason.what()) + "; checkpoint " + id +
                  " stays in storage, since the master may know it; delete it if it does not",
              reason.os_errno, reason.http_status);
}

// In the journal; false where this rank has none.
bool CheckpointContext::keep(const engine::CheckpointReport &report) {
  const std::optional<uint64_t> sequence = train_.keep_checkpoint(report);
  if (!sequence) return false;
  const std::lock_guard lock(waiting_mutex_);
  waiting_.insert_or_assign(report.id, report);
  master_.send_ahead(*sequence, report);
  return true;
}

// To the master its end must not come before its beginning.
void CheckpointContext::settle_waiting(const std::string &id) {
  const std::lock_guard lock(waiting_mutex_);
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return;
  master_.report_checkpoint(found->second);
  waiting_.erase(found);
}

// The master is told before the first file goes: who is killed in between must not leave it a
// checkpoint without files to begin the next run from. The storage keeps in mind meanwhile that
// this one is to be settled at the next start.
void CheckpointContext::remove(const std::string &id) {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  storage::check_storage_id(id);
  if (saves_.has(id))
    throw Error(Code::busy, "deleting checkpoint " + id +
                                ": it is still being saved; cancel that, or wait for its end");
  settle_waiting(id);
  removals_.await(id);
  if (const std::optional<Json> recorded = master_.checkpoint_storage(id))
    require_place(storage_, id, *recorded);
  if (const std::shared_ptr<SaveStage> at = stage()) at->drop(id);
  storage_.withdraw(id);
  bool was_complete = false;
  try {
    was_complete = master_.withdraw_checkpoint(id);
  } catch (const Error &) {
    storage_.settle(id);
    throw;
  }
  remove_withdrawn(id, was_complete);
  master_.checkpoint_deleted(id);
  storage_.settle(id);
  storage_.reclaim();
}

void CheckpointContext::remove_withdrawn(const std::string &id, bool was_complete) try {
  storage_.remove(id);
} catch (const Error &) {
  bool is_there = true;
  try {
    storage_.list(id);
  } catch (const Error &error) {
    is_there = error.code != Code::not_found;
  }
  if (!is_there) master_.checkpoint_deleted(id);  // what is left of it, the next sweep removes
  if (!is_there || (was_complete && master_.reinstate_checkpoint(id))) storage_.settle(id);
  throw;
}

Json CheckpointContext::metadata(const std::string &id) {
  gate_.check();
  const profiler::LibraryCall timed(train_.regions());
  storage::check_storage_id(id);
  {
    const std::lock_guard lock(waiting_mutex_);
    if (const auto found = waiting_.find(id); found != waiting_.end())
      return found->second.metadata;
  }
  if (std::optional<Json> known = master_.checkpoint_metadata(id)) return *known;
  // Saved before this store existed, or by another program: storage keeps a copy.
  const std::optional<std::string> text = storage_.read(id, storage::metadata_name);
  if (!text) return Json::object();
  return parse_json_object(*text,
                           std::string(storage::metadata_name) + " of checkpoint '" + id + "'");
}

void CheckpointContext::recover() {
  for (const std::string &id : storage_.sweep()) {
    if (master_.knows_checkpoint(id)) storage_.settle(id);
    else finish_removal(id);
  }
  storage_.reclaim();
}

void CheckpointContext::finish_removal(const std::string &id) try {
  logger_.info("removing checkpoint " + id +
               ", which a killed process never reported, or was deleting");
  storage_.remove(id);
  master_.checkpoint_deleted(id);
  storage_.settle(id);
} catch (const Error &error) {
  // The next start tries again; training need not wait for that.
  logger_.warning("removing checkpoint " + id + ", which a killed process left: " + error.what());
}

}  // namespace det::context
