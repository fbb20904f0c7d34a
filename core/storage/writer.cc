#include "core/storage/writer.h"

#include <exception>
#include <utility>

#include "core/base/error.h"
#include "core/base/json.h"

namespace det::storage {

namespace fs = std::filesystem;

std::string pack_share(const HashedFiles &files) {
  Json list = Json::array();
  for (const auto &[path, file] : files)
    list.push_back(
        Json::array({path, file.stamp.size, file.stamp.mtime_ns, file.stamp.inode, file.checksum,
                     file.attributes ? Json(file.attributes->mode) : Json(),
                     file.attributes && file.attributes->is_sparse}));
  return pack(list);
}

HashedFiles unpack_shares(const std::vector<std::string> &shares) {
  HashedFiles files;
  for (const std::string &share : shares) try {
      for (const Json &file : unpack(share, "what a rank finished")) {
        const FileStamp stamp{file.at(1), file.at(2), file.at(3)};
        auto path = file.at(0).get<std::string>();
        HashedFile &one = files[path] = {path, stamp, file.at(4)};
        if (!file.at(5).is_null())
          one.attributes = FileAttributes{file.at(5), stamp.mtime_ns, file.at(6)};
      }
    } catch (const Json::exception &e) {
      throw Error(Code::corrupt, std::string("reading what a rank finished: ") + e.what());
    }
  return files;
}

Writer::Writer(std::string id, Role role, std::unique_ptr<WriterBackend> backend)
    : id_(std::move(id)),
      role_(role),
      backend_(std::move(backend)),
      state_(role == Role::reopened ? State::committed : State::writing) {}

Writer::~Writer() {
  if (guard_.in_child() || (state_ != State::writing && state_ != State::damaged)) return;
  try {
    Writer::abort();
  } catch (const std::exception &) {
    // A sweep tries again once this process is gone.
  }
}

void Writer::require_own_process() const {
  if (guard_.in_child())
    throw Error(Code::state, "writing checkpoint '" + id_ +
                                 "': this is a forked child of the process that began it; leave it "
                                 "to the parent");
}

void Writer::require_writing(const char *tried) const {
  require_own_process();
  if (state_ == State::damaged)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': adding to it failed before; abort it and begin a new one");
  if (state_ != State::writing)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': it is committed or aborted already; begin a new one");
}

void Writer::require_owner(const char *tried) const {
  if (role_ == Role::joined)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': this rank joined it; the rank that began it commits");
}

void Writer::add(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
                 Progress *progress) {
  require_writing("adding to checkpoint");
  state_ = State::damaged;
  backend_->add(source, paths, progress);
  state_ = State::writing;
}

void Writer::copy(const fs::path &source, const std::optional<std::vector<std::string>> &paths,
                  Progress *progress) {
  require_writing("adding to checkpoint");
  state_ = State::damaged;
  backend_->copy(source, paths, progress);
  state_ = State::writing;
}

void Writer::put(const std::string &name, std::string_view bytes) {
  require_writing("adding to checkpoint");
  backend_->put(name, bytes);
}

void Writer::know(const HashedFile &file) {
  require_writing("adding to checkpoint");
  backend_->know(file);
}

std::string Writer::finish(const std::vector<std::string> &paths, Progress *progress) {
  require_writing("finishing checkpoint");
  state_ = State::damaged;
  std::string share = backend_->finish(paths, progress);
  state_ = State::writing;
  return share;
}

void Writer::promise_share(int rank) {
  require_writing("sharing checkpoint");
  backend_->promise_share(rank);
}

// Also what adding or finishing failed with.
void Writer::leave_share(int rank, const std::string &share) {
  require_own_process();
  backend_->leave_share(rank, share);
}

std::optional<std::string> Writer::take_share(int rank) {
  require_writing("sharing checkpoint");
  return backend_->take_share(rank);
}

void Writer::seal(const std::string &owner) {
  require_writing("sealing checkpoint");
  require_owner("sealing checkpoint");
  backend_->seal(owner);
}

Resources Writer::commit(const std::vector<std::string> &finished, Progress *progress) {
  if (role_ == Role::reopened && state_ == State::committed) return backend_->list(false);
  require_writing("committing checkpoint");
  require_owner("committing checkpoint");
  try {
    Resources resources = backend_->publish(finished, progress);
    state_ = State::committed;
    return resources;
  } catch (...) {
    try {
      abort();
    } catch (const Error &) {
      // What went wrong first is what the caller should know.
    }
    throw;
  }
}

void Writer::announced() {
  require_own_process();
  if (state_ == State::announced) return;
  if (state_ != State::committed)
    throw Error(Code::state, "announcing checkpoint '" + id_ + "': it is not committed");
  state_ = State::announced;
  try {
    backend_->announced();
  } catch (const std::exception &) {
    // The next sweep finds what tells of it without an owner, asks the master, and removes that.
  }
}

void Writer::abort() {
  require_own_process();
  if (state_ == State::aborted) return;
  if (state_ == State::announced)
    throw Error(Code::state,
                "aborting checkpoint '" + id_ + "': it is announced; delete it instead");
  state_ = State::aborted;
  backend_->discard();
}

}  // namespace det::storage
