// Where checkpoints are kept. Directories (shared_fs, directory) are in this room, buckets in
// core/cloud.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/log/log.h"
#include "core/storage/progress.h"

namespace det::storage {

struct HashedFile;  // core/storage/file_transfer.h

// Relative path → bytes. A directory ends in '/' and has 0.
using Resources = std::map<std::string, uint64_t>;

// Decides by relative path ('/' at the end of a directory). Empty: everything.
using Selector = std::function<bool(const std::string &)>;

// The contents of a directory as resources: recursive, the root itself and the manifest left out. A
// link to a file counts as the file; one to a directory as "name/" and is not entered; a dangling
// one is Code::not_found.
Resources list_directory(const std::filesystem::path &root);

// Checksums of files that list_directory() gave, by path. No file is held in memory whole.
std::map<std::string, uint64_t> checksums_of(const std::filesystem::path &root,
                                             const std::vector<std::string> &paths,
                                             Progress *progress = nullptr);

// Whether `id` can name a checkpoint: one path component of letters, digits, '-', '_' and '.', not
// beginning with a dot, at most 255 bytes.
bool is_storage_id(const std::string &id);
void check_storage_id(const std::string &id);  // throws Code::invalid

// Asked where a checkpoint has no manifest: whether it was stored with one, which somebody then has
// taken away. Empty: it was not.
using HadManifest = std::function<bool()>;

// A checkpoint being written. Until commit() nothing of it is visible; a crash before leaves
// something that a later sweep() removes. What its calls move is counted by their `progress`.
//
// Several ranks write one checkpoint together: one begins and owns it, the others join. Each adds
// its files or writes them to path(), and finishes its share; what finish() gave on each goes to
// the owner, who commits. Where path() is one directory for all (a file system), a share may name
// files that other ranks wrote there; where each machine has its own (cloud storage), finish()
// uploads, and a share names files of the same machine.
class CheckpointWriter {
 public:
  virtual ~CheckpointWriter() = default;  // aborts unless committed or aborted

  virtual const std::string &id() const = 0;
  virtual const std::filesystem::path &path() const = 0;  // write here

  // Copies the contents of a directory in; `paths` limits it to exactly those resources.
  virtual void add(const std::filesystem::path &source,
                   const std::optional<std::vector<std::string>> &paths,
                   Progress *progress = nullptr) = 0;

  // The same while somebody waits: hashing is left to finish() and commit().
  virtual void copy(const std::filesystem::path &source,
                    const std::optional<std::vector<std::string>> &paths,
                    Progress *progress = nullptr) = 0;

  // Writes a file into path(), in place of what has that name there.
  virtual void put(const std::string &name, std::string_view bytes) = 0;

  // A file that somebody wrote into path() and summed meanwhile, so that it need not be read again.
  // It counts as long as the file is what its stamp says; who has no use for it ignores it.
  virtual void know(const HashedFile & /*file*/) {}

  // What lies in path() now; Code::invalid for a link that leads out of it.
  virtual Resources list() const = 0;

  // Brings to storage what this writer added, and the files at `paths` below path(). Nobody may
  // change them any more.
  virtual std::string finish(const std::vector<std::string> &paths,
                             Progress *progress = nullptr) = 0;

  // For ranks that go on without collectives: what finish() gave, on its way to the owner. Each
  // first promises its own; asked for one, the owner gets nothing while it is not there, and
  // Code::unavailable where the process that promised it is gone. Code::unsupported where only a
  // collective can carry it.
  virtual void promise_share(int rank);
  virtual void leave_share(int rank, const std::string &share);
  virtual std::optional<std::string> take_share(int rank);

  // By the owner, once nobody adds to it any more: should this process end before announced(), no
  // sweep removes it, and Storage::take_sealed() gives it to a process that says the same of
  // itself. A power cut may take it.
  virtual void seal(const std::string & /*owner*/) {}

  // Makes it durable and visible in storage, under its id; what nobody has finished is finished
  // here. Only by the owner. After a throw nothing is visible.
  virtual Resources commit(const std::vector<std::string> &finished = {},
                           Progress *progress = nullptr) = 0;

  // The master knows it: from now on a sweep leaves it alone.
  virtual void announced() = 0;

  // Removes it, also after a commit whose announcement failed. One that joined only leaves it: its
  // files go when the owner aborts.
  virtual void abort() = 0;
};

// A checkpoint opened for reading; the destructor removes a temporary copy.
class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;
  virtual const std::filesystem::path &path() const = 0;
};

// How much of a checkpoint is read, and how.
struct ReadOptions {
  Selector selector{};
  bool checksums = true;
  HadManifest had_manifest{};
  Progress *progress = nullptr;
};

// A file that is kept beside the checkpoints.
struct KeptFile {
  std::string path;  // below the directory that was listed
  uint64_t size = 0;
  std::string version;  // of its contents
};

// What of one is to be read, and where it goes.
struct KeptRange {
  std::string path;
  uint64_t offset = 0, size = 0;
  std::filesystem::path file;  // made where it is absent, and written from the same offset on
};

// Files of other kinds (TensorBoard) beside the checkpoints of a storage without a file system,
// under relative paths of at least three components, which nothing of a checkpoint has.
class KeptFiles {
 public:
  virtual ~KeptFiles() = default;

  // In place of what was there. The callback of `progress` may end it.
  virtual void put(const std::string &path, const std::filesystem::path &file,
                   Progress *progress = nullptr) = 0;
  // The same of a file of any size that nobody may change, and never in the place of another one:
  // Code::conflict. Of two that put a large one at a time, the last one's may be there, whole. What
  // was sent of others of that name goes.
  virtual void put_new(const std::string &path, const std::filesystem::path &file,
                       Progress *progress = nullptr) = 0;
  // All that were kept below a directory.
  virtual void remove(const std::string &directory) = 0;
  // In the order of the paths. Leaves out names that no file of a directory can have.
  virtual std::vector<KeptFile> list(const std::string &directory,
                                     Progress *progress = nullptr) = 0;
  // Several at a time. Of a file that is gone or has become shorter meanwhile, less is read.
  virtual void read(const std::string &directory, const std::vector<KeptRange> &ranges,
                    Progress *progress = nullptr) = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  // Of which master the checkpoints are that are begun and withdrawn from now on, by the id of its
  // cluster: no other one is asked about them. Before anything else; again only with the same.
  virtual void serve(const std::string &cluster_id) = 0;

  virtual std::unique_ptr<CheckpointWriter> begin(const std::string &id) = 0;
  // Takes part in what another process, perhaps on another machine, began and still owns.
  virtual std::unique_ptr<CheckpointWriter> join(const std::string &id) = 0;

  // As begin(), but goes on with what a process that is gone began under this id with the same
  // files: what of them is stored already need not be sent again. As long as this machine has
  // `source`, the directory that they come from, no sweep() removes that, for a week. Code::busy
  // where its process lives.
  virtual std::unique_ptr<CheckpointWriter> resume(const std::string &id,
                                                   const std::filesystem::path &source) {
    static_cast<void>(source);
    return begin(id);
  }

  // What is stored under an id, or should be by its manifest: the paths that a selector of
  // download() is asked about.
  virtual Resources list(const std::string &id) = 0;

  // Both verify sizes, and checksums where `checksums`; a damaged or missing file is Code::corrupt
  // and named, and so is a link that leads out. A checkpoint that never had a manifest (made by
  // another program) is taken as it is.
  virtual void download(const std::string &id, const std::filesystem::path &target,
                        const ReadOptions &options) = 0;
  virtual std::unique_ptr<CheckpointReader> restore(const std::string &id,
                                                    const ReadOptions &options) = 0;
  void download(const std::string &id, const std::filesystem::path &target, Selector selector,
                bool checksums) {
    download(id, target, ReadOptions{std::move(selector), checksums});
  }
  std::unique_ptr<CheckpointReader> restore(const std::string &id, Selector selector,
                                            bool checksums) {
    return restore(id, ReadOptions{std::move(selector), checksums});
  }

  // Where restore() makes temporary copies: an empty directory for one, and one that another
  // process of this user and machine holds. It goes with the last who holds it. Null: restore()
  // hands out what is stored.
  virtual std::unique_ptr<CheckpointReader> make_copy(const std::string & /*id*/) {
    return nullptr;
  }
  virtual std::unique_ptr<CheckpointReader> hold_copy(const std::filesystem::path & /*copy*/) {
    return nullptr;
  }

  // One file of a checkpoint, without the others and unverified; nothing: it has none of that path.
  virtual std::optional<std::string> read(const std::string &id, const std::string &path);

  // The first step of a removal, before anybody is told of it: until settle(), what is visible
  // counts as committed but not announced. Throws where it could not be removed. Nothing there is
  // no error.
  virtual void withdraw(const std::string &id) = 0;
  // Nothing there is no error. After a throw it may be gone all the same, for a sweep to clear.
  virtual void remove(const std::string &id) = 0;
  // Removes what matches the globs (spec 4.9); gives back what remains.
  virtual Resources remove_matching(const std::string &id,
                                    const std::vector<std::string> &globs) = 0;

  // What processes that are gone had sealed for `owner`, each to be committed (again, where it was)
  // and announced, or aborted. Before sweep(), which removes what nobody came for in a week.
  virtual std::vector<std::unique_ptr<CheckpointWriter>> take_sealed(
      const std::string & /*owner*/) {
    return {};
  }

  // Removes what killed processes left half written. Gives back ids that were committed but never
  // announced by an owner that is gone, or withdrawn and perhaps removed already: the caller asks
  // the master, calls remove() where that does not know the checkpoint, and then settle().
  virtual std::vector<std::string> sweep() = 0;
  virtual void settle(const std::string &id) = 0;  // master and storage agree about it

  // Gives free what nothing stored needs any more after removals; cheap where nothing was removed.
  // What goes wrong is logged.
  virtual void reclaim() {}

  // How to build this storage again, without credentials.
  virtual Json config() const = 0;

  // Throws where nothing could be stored, as far as that can be told at once: a directory is only
  // looked at, and of a bucket one small object is put, read and removed.
  virtual void probe() {}

  // The directory under which files of other kinds may be kept beside the checkpoints; empty when
  // this storage has no file system, but files().
  virtual std::filesystem::path directory() const = 0;
  virtual KeptFiles *files() { return nullptr; }

  // Stores a checkpoint in another storage as well, under its id, without its bytes coming here.
  // False: it cannot.
  virtual bool copy_to(Storage & /*other*/, const std::string & /*id*/,
                       Progress * /*progress*/ = nullptr) {
    return false;
  }
};

// From a `checkpoint_storage` object (spec 4.1). `container_path` replaces host_path where given.
std::unique_ptr<Storage> make_storage(const Json &config,
                                      const std::optional<std::string> &container_path,
                                      std::shared_ptr<Logger> logger);

// From a path or URI (spec 4.2).
std::unique_ptr<Storage> make_storage_from_uri(const std::string &uri,
                                               std::shared_ptr<Logger> logger);

// From what is recorded of a place: either of the two.
std::unique_ptr<Storage> make_recorded_storage(const Json &place, std::shared_ptr<Logger> logger);

// At the launch of a trial: probe(), with an error that says where the storage comes from.
void require_usable(Storage &storage);

// Stores, reads back and removes a small checkpoint; throws when any of it fails.
void validate_storage(Storage &storage);

// Stores the contents of a directory under a new id, which it gives back; nobody is told of it.
// `metadata`, unless empty, becomes the checkpoint's metadata.json.
std::string save_directory(Storage &storage, const std::filesystem::path &directory,
                           const Selector &selector, const std::string &metadata,
                           Progress *progress = nullptr);

// Throws Code::corrupt where a file is not what was stored, Code::unsupported where nobody can
// tell.
void verify_checkpoint(Storage &storage, const std::string &id, Progress *progress = nullptr);

// Stores it in `to` as well, under the same id.
void copy_checkpoint(Storage &from, const std::string &id, Storage &to,
                     Progress *progress = nullptr);

}  // namespace det::storage
