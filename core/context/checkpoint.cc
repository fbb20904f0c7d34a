#include "core/context/checkpoint.h"

#include <fcntl.h>

#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/uuid.h"
#include "core/context/train.h"

namespace det {

namespace fs = std::filesystem;

namespace {

constexpr const char *metadata_file = "metadata.json";

// Before anything is stored: one checkpoint whose steps are no integer breaks the reading of others
// on some masters.
void check_metadata(const Json &metadata) {
  const auto steps = metadata.find("steps_completed");
  if (steps == metadata.end())
    throw Error(Code::invalid,
                "saving a checkpoint: its metadata lacks \"steps_completed\"; add it, like "
                "{\"steps_completed\": 100}");
  if (!steps->is_number_integer() || (!steps->is_number_unsigned() && steps->get<int64_t>() < 0))
    throw Error(Code::invalid,
                "saving a checkpoint: \"steps_completed\" must be an integer, 0 or "
                "more, not " +
                    to_wire(*steps));
}

void write_metadata(const fs::path &directory, const Json &metadata) {
  const fs::path path = directory / metadata_file;
  const Fd file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  write_all(file.get(), to_metadata_text(metadata), path.string());
}

}  // namespace

CheckpointStore::CheckpointStore(CheckpointContext &context, Json metadata,
                                 std::unique_ptr<CheckpointWriter> writer)
    : context_(context),
      metadata_(std::move(metadata)),
      id_(writer->id()),
      path_(writer->path().string()),
      writer_(std::move(writer)) {}

CheckpointStore::~CheckpointStore() {
  // A forked child shares the parent's files and must leave them alone.
  if (context_.gate_.in_child()) static_cast<void>(writer_.release());
}

void CheckpointStore::commit() {
  context_.gate_.check();
  const std::lock_guard guard(mutex_);
  if (state_ != State::open)
    throw Error(Code::state, "committing checkpoint " + id_ + ": it was " +
                                 (state_ == State::committed ? "committed" : "aborted") +
                                 " before; begin a new one");
  state_ = State::failed;
  write_metadata(path_, metadata_);
  context_.publish(*writer_, metadata_);
  state_ = State::committed;
}

void CheckpointStore::abort() {
  if (context_.gate_.in_child()) context_.gate_.check();
  const std::lock_guard guard(mutex_);
  if (state_ == State::committed)
    throw Error(Code::state, "aborting checkpoint " + id_ +
                                 ": it was committed before; det_checkpoint_delete() removes it");
  if (state_ == State::aborted) return;
  writer_->abort();
  state_ = State::aborted;
}

CheckpointContext::CheckpointContext(const Gate &gate, Communicator &communicator, Master &master,
                                     Storage &storage, TrainContext &train, Logger &logger)
    : gate_(gate),
      communicator_(communicator),
      master_(master),
      storage_(storage),
      train_(train),
      logger_(logger) {}

void CheckpointContext::check_rank(const char *call, bool sharded) const {
  if (sharded || communicator_.is_chief()) return;
  throw Error(Code::state, std::string("calling ") + call + " on non-chief rank " +
                               std::to_string(communicator_.ranks().rank) +
                               ": without shard only rank 0 saves");
}

std::string CheckpointContext::upload(const fs::path &directory, const Json &metadata, bool sharded,
                                      const Selector &selector) {
  gate_.check();
  check_rank("upload", sharded);
  if (directory.empty())
    throw Error(Code::state,
                sharded ? "uploading a checkpoint: no rank gave a directory"
                        : "uploading a checkpoint: directory must not be NULL without shard");
  check_metadata(metadata);
  if (!fs::is_directory(directory))
    throw Error(fs::exists(directory) ? Code::invalid : Code::not_found,
                "uploading a checkpoint: '" + directory.string() + "' is not a directory");
  write_metadata(directory, metadata);

  std::optional<std::vector<std::string>> paths;
  if (selector) {
    paths.emplace();
    for (const auto &[path, size] : list_directory(directory))
      if (selector(path)) paths->push_back(path);
  }
  const std::unique_ptr<CheckpointWriter> writer = storage_.begin(make_uuid());
  writer->add(directory, paths);
  publish(*writer, metadata);
  return writer->id();
}

std::unique_ptr<CheckpointStore> CheckpointContext::begin_store(const Json &metadata,
                                                                bool sharded) {
  gate_.check();
  check_rank(".store_path", sharded);
  check_metadata(metadata);
  return std::unique_ptr<CheckpointStore>(
      new CheckpointStore(*this, metadata, storage_.begin(make_uuid())));
}

void CheckpointContext::publish(CheckpointWriter &writer, const Json &metadata) {
  CheckpointReport report{writer.id(), metadata, writer.commit(), storage_.config()};
  try {
    // The master must not see a checkpoint before the metrics that led to it.
    train_.deliver_all();
    master_.report_checkpoint(report);
  } catch (...) {
    writer.abort();
    throw;
  }
  writer.announced();
  logger_.info("saved checkpoint " + writer.id());
}

void CheckpointContext::download(const std::string &id, const fs::path &directory,
                                 const DownloadRequest &request) {
  gate_.check();
  check_storage_id(id);
  storage_.download(id, directory, request.selector, request.checksums);
}

std::unique_ptr<CheckpointReader> CheckpointContext::begin_restore(const std::string &id,
                                                                   const DownloadRequest &request) {
  gate_.check();
  check_storage_id(id);
  return storage_.restore(id, request.selector, request.checksums);
}

void CheckpointContext::remove(const std::string &id) {
  gate_.check();
  check_storage_id(id);
  storage_.remove(id);
  master_.checkpoint_deleted(id);
}

Json CheckpointContext::metadata(const std::string &id) {
  gate_.check();
  check_storage_id(id);
  if (std::optional<Json> known = master_.checkpoint_metadata(id)) return *known;
  // Saved before this store existed, or by another program: storage keeps a copy.
  const std::unique_ptr<CheckpointReader> reader = storage_.restore(id, nullptr, false);
  const fs::path file = reader->path() / metadata_file;
  if (!fs::exists(file)) return Json::object();
  return parse_json_object(read_file(file), "'" + file.string() + "'");
}

void CheckpointContext::recover() {
  for (const std::string &id : storage_.sweep()) {
    if (master_.knows_checkpoint(id)) {
      storage_.adopt(id);
    } else {
      logger_.info("removing checkpoint " + id +
                   ", which a killed process finished but never reported");
      storage_.remove(id);
    }
  }
}

}  // namespace det
