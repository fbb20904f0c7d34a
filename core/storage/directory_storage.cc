#include "core/storage/directory_storage.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "core/base/uuid.h"
#include "core/storage/chunks/directory_chunks.h"
#include "core/storage/chunks/stored_chunks.h"
#include "core/storage/glob.h"
#include "core/storage/staging_sweep.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

class StoredDirectory : public CheckpointReader {
 public:
  explicit StoredDirectory(fs::path path) : path_(std::move(path)) {}
  const fs::path &path() const override { return path_; }

 private:
  const fs::path path_;
};

// A directory to put a checkpoint together in, removed with this: in the storage, where a sweep
// clears it away if this process dies, or where that cannot be written in the system's for such.
class TemporaryCopy : public CheckpointReader {
 public:
  TemporaryCopy(const std::filesystem::path &base, const std::string &cluster_id);
  ~TemporaryCopy() override;
  const std::filesystem::path &path() const override { return path_; }

 private:
  std::optional<Staging> staging_;  // nothing: in the system's
  std::optional<OwnerLock> lock_;
  std::string id_;
  std::filesystem::path path_;
};

TemporaryCopy::TemporaryCopy(const fs::path &base, const std::string &cluster_id)
    : id_(make_uuid()) {
  try {
    staging_.emplace(Staging::open(base, cluster_id));
    path_ = staging_->claim(id_, lock_).name;
    return;
  } catch (const Error &error) {
    if (error.code != Code::access) throw;
    staging_.reset();
  }
  std::string name = (fs::temp_directory_path() / "det-checkpoint-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) OsFailure{errno}.raise("making directory '" + name + "'");
  path_ = name;
}

TemporaryCopy::~TemporaryCopy() {
  try {
    if (staging_) {
      staging_->discard_staged(id_);
      staging_->release(id_);
    } else {
      remove_tree(path_);
    }
  } catch (const std::exception &) {
    // In the storage, the next sweep does it.
  }
}

}  // namespace

DirectoryStorage::DirectoryStorage(Options options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)),
      logger_(std::move(logger)),
      memory_(options_.deduplicate ? std::make_shared<ChunkMemory>() : nullptr) {}

DirectoryWriterOptions DirectoryStorage::writing() const {
  return {options_.durable, memory_, options_.spares, logger_};
}

std::unique_ptr<CheckpointWriter> DirectoryStorage::begin(const std::string &id) {
  check_storage_id(id);
  struct stat about {};
  if (lstat((options_.base / id).c_str(), &about) == 0)
    throw Error(Code::conflict, "starting checkpoint '" + (options_.base / id).string() +
                                    "': the id is taken; use a new id");
  return begin_in_directory(Staging::open(options_.base, cluster_id_), id, writing());
}

std::unique_ptr<CheckpointWriter> DirectoryStorage::join(const std::string &id) {
  check_storage_id(id);
  // Opening it makes what is absent, and so asks the server, where a client of a network file
  // system remembers that there was nothing.
  return join_in_directory(Staging::open(options_.base, cluster_id_), id, writing());
}

Resources DirectoryStorage::list(const std::string &id) {
  const Tree stored = open_stored(id);
  Resources resources =
      resources_of(scan_tree(stored, {.enter_links = true, .outside = Code::corrupt}));
  if (const std::optional<Manifest> manifest = read_manifest(stored))
    for (const auto &[path, entry] : *manifest) resources.try_emplace(path, entry.size);
  return resources;
}

// Throws Code::not_found when something else than a directory has that name.
bool DirectoryStorage::is_stored(const std::string &id) const {
  check_storage_id(id);
  const fs::path path = options_.base / id;
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return false;
    OsFailure{errno}.raise("looking at '" + path.string() + "'");
  }
  if (!S_ISDIR(about.st_mode))
    throw Error(Code::not_found, "opening '" + path.string() +
                                     "': not a checkpoint but a file or link; check the id");
  return true;
}

Tree DirectoryStorage::open_stored(const std::string &id) const {
  const fs::path path = options_.base / id;
  if (!is_stored(id))
    throw Error(Code::not_found, "opening checkpoint '" + path.string() +
                                     "': nothing is stored under that id; check the id and the "
                                     "storage");
  return {path, open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)};
}

std::optional<Manifest> DirectoryStorage::manifest_of(const Tree &stored,
                                                      const HadManifest &had_manifest) const {
  std::optional<Manifest> manifest = read_manifest(stored);
  if (!manifest && had_manifest && had_manifest())
    throw Error(Code::corrupt, "verifying '" + stored.name.string() +
                                   "': its manifest is missing, so that its files cannot be "
                                   "checked; the checkpoint is damaged or somebody has put "
                                   "another in its place, restore another one");
  return manifest;
}

void DirectoryStorage::download(const std::string &id, const fs::path &target,
                                const ReadOptions &options) {
  const Tree stored = open_stored(id);
  const Selector &selector = options.selector;
  std::vector<TreeEntry> entries =
      scan_tree(stored, {.enter_links = true, .sizes = false, .outside = Code::corrupt});
  const std::optional<Manifest> manifest = manifest_of(stored, options.had_manifest);
  StoredChunks chunks(options_.base, stored, manifest);
  chunks.add_to(entries);
  Selector chosen;
  if (selector) {
    std::unordered_map<std::string, bool> wanted;  // one call for each path
    for (const TreeEntry &entry : entries) wanted[entry.path] = selector(entry.path);
    std::erase_if(entries, [&](const TreeEntry &entry) { return !wanted[entry.path]; });
    chosen = [&selector, wanted = std::move(wanted)](const std::string &path) {
      const auto known = wanted.find(path);
      return known == wanted.end() ? selector(path) : known->second;
    };
  }
  const bool nothing = selector && entries.empty();
  chunks.take_from(entries);
  if (manifest) verify_sizes(stored, chunks.rest_of(*manifest), chosen);
  chunks.verify();
  if (nothing) return;
  make_directories(target);
  const Tree into(target);
  const bool compare = options.checksums && manifest;
  std::vector<HashedFile> assembled;
  std::vector<HashedFile> copied = copy_tree(
      stored, entries, into, {.confined = true, .checksums = compare, .progress = options.progress},
      [&] { assembled = chunks.assemble(into, options.progress); });
  if (!compare) return;
  copied.insert(copied.end(), assembled.begin(), assembled.end());
  for (const HashedFile &file : copied) try {
      verify_checksum(stored, *manifest, file);
    } catch (const Error &) {
      remove_file_beneath(into, file.path);
      throw;
    }
}

std::unique_ptr<CheckpointReader> DirectoryStorage::restore(const std::string &id,
                                                            const ReadOptions &options) {
  check_storage_id(id);
  struct stat about {};
  if (stat(options_.base.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    throw Error(Code::not_found, "restoring checkpoint '" + id + "': the storage directory '" +
                                     options_.base.string() + "' does not exist; check `" +
                                     options_.base_key + "`");
  const Tree stored = open_stored(id);
  const std::optional<Manifest> manifest = manifest_of(stored, options.had_manifest);
  if (!StoredChunks(options_.base, stored, manifest).empty()) {
    auto copy = std::make_unique<TemporaryCopy>(options_.base, cluster_id_);
    download(id, copy->path(), options);
    return copy;
  }
  if (options.selector)
    logger_->warning("restoring checkpoint '" + id +
                     "': this storage hands out the stored directory, so the selector is ignored");
  if (manifest && options.checksums) verify(stored, *manifest, options.progress);
  else if (manifest) verify_sizes(stored, *manifest, nullptr);
  // What a download would refuse is not handed out either. A commit has let links to directories
  // of the checkpoint pass, so of what has a manifest these are not entered.
  check_copyable(
      stored,
      scan_tree(stored, {.enter_links = !manifest, .sizes = false, .outside = Code::corrupt}));
  return std::make_unique<StoredDirectory>(stored.name);
}

std::optional<std::string> DirectoryStorage::read(const std::string &id, const std::string &path) {
  const Tree stored = open_stored(id);
  const Fd file(open_beneath(stored.fd.get(), path, O_RDONLY | O_NONBLOCK));
  if (file) return read_all(file.get(), (stored.name / path).string());
  if (errno != ENOENT) OsFailure{errno}.raise("opening " + stored.name_of(path));
  if (!StoredChunks(options_.base, stored, read_manifest(stored)).has(path)) return std::nullopt;
  return Storage::read(id, path);
}

void DirectoryStorage::withdraw(const std::string &id) {
  if (!is_stored(id)) return;
  // Moving a directory writes to all three: its parents and itself.
  const Staging staging = Staging::open(options_.base, cluster_id_);
  for (const fs::path &path : {options_.base, options_.base / id, staging.root()})
    if (faccessat(AT_FDCWD, path.c_str(), W_OK | X_OK, AT_EACCESS) != 0 && errno != ENOENT)
      OsFailure{errno}.raise("removing '" + (options_.base / id).string() + "' by way of '" +
                             staging.root().string() + "'");
  const std::lock_guard guard(mutex_);
  if (unsettled_.contains(id)) return;
  try {
    unsettled_.emplace(id, OwnerLock::acquire(staging.lock_of(id)));
  } catch (const Error &error) {
    // Another process removes it too, and that one sees to the rest if this one dies.
    if (error.code != Code::busy) throw;
  }
  staging.sync_locks();
}

void DirectoryStorage::remove(const std::string &id) {
  if (is_stored(id)) Staging::open(options_.base, cluster_id_).discard_visible(id);
}

void DirectoryStorage::prepare_to_reuse(const std::string &id) {
  options_.spares->prepare(open_stored(id));
}

void DirectoryStorage::reuse(const std::string &id) {
  if (!is_stored(id)) return;
  options_.spares->set_aside(open_stored(id),
                             Staging::open(options_.base, cluster_id_).unfinished());
  remove(id);
}

Resources DirectoryStorage::remove_matching(const std::string &id,
                                            const std::vector<std::string> &globs) {
  if (!is_stored(id)) {
    logger_->info("removing from checkpoint '" + id + "': nothing is stored under that id");
    return {};
  }
  if (std::ranges::count(globs, "**/*") > 0) {
    remove(id);
    return {};
  }
  const Tree stored = open_stored(id);
  const std::optional<Manifest> before = read_manifest(stored);
  const StoredChunks chunks(options_.base, stored, before);
  std::vector<TreeEntry> entries = scan_tree(stored, {});
  chunks.add_to(entries);
  const Matches matches = match_globs(resources_of(entries), globs, *logger_);
  if (matches.remaining.empty()) {
    remove(id);
    return {};
  }
  // The manifest first: a file too many does no harm, one that is missed makes a checkpoint
  // unusable.
  if (before) {
    Manifest manifest = *before;
    std::erase_if(manifest,
                  [&](const auto &entry) { return !matches.remaining.contains(entry.first); });
    replace_manifest(stored, manifest, !chunks.empty());
  }
  chunks.forget_all_but(matches.remaining);
  for (const std::string &path : matches.removed) {
    if (chunks.has(path)) continue;
    std::string leaf;
    const Fd parent = open_parent_beneath(stored, path, &leaf);
    remove_beneath(parent.get(), leaf, stored.name / path);
  }
  return matches.remaining;
}

std::vector<std::unique_ptr<CheckpointWriter>> DirectoryStorage::take_sealed(
    const std::string &owner) {
  std::vector<std::unique_ptr<CheckpointWriter>> writers;
  std::optional<Staging> staging = Staging::find(options_.base, cluster_id_);
  if (!staging) return writers;
  for (SealedTree &sealed : StagingSweep(*staging, *logger_).take_sealed(owner)) {
    const std::string id = sealed.id;
    try {
      writers.push_back(reopen_in_directory(Staging::open(options_.base, cluster_id_),
                                            std::move(sealed), writing()));
    } catch (const Error &error) {
      logger_->warning("dropping checkpoint '" + id + "': " + error.what());
      staging->discard_staged(id);
      staging->release(id);
    }
  }
  return writers;
}

std::vector<std::string> DirectoryStorage::sweep() {
  const std::optional<Staging> staging = Staging::find(options_.base, cluster_id_);
  const std::lock_guard guard(mutex_);
  if (staging)
    for (Orphan &orphan : StagingSweep(*staging, *logger_).run()) {
      // Nobody can have been told of what was not visible yet, or has no name to be told by.
      struct stat about {};
      if (!is_storage_id(orphan.id) ||
          (orphan.was_staged && lstat((options_.base / orphan.id).c_str(), &about) != 0))
        staging->release(orphan.id);
      else unsettled_.insert_or_assign(orphan.id, std::move(orphan.lock));
    }
  reclaim();
  std::vector<std::string> ids;
  for (const auto &[id, held] : unsettled_) ids.push_back(id);
  return ids;
}

void DirectoryStorage::reclaim() try {
  const std::optional<Staging> staging = Staging::find(options_.base, cluster_id_);
  if (staging) reclaim_chunks(staging->visible(), staging->unfinished(), *logger_);
} catch (const Error &error) {
  logger_->warning(std::string("removing chunks that no checkpoint has any more: ") + error.what());
}

// Where it is absent, the first save makes it, below the nearest that is there.
void DirectoryStorage::probe() {
  fs::path nearest = fs::absolute(options_.base);
  struct stat about {};
  while (stat(nearest.c_str(), &about) != 0) {
    if (errno != ENOENT || !nearest.has_relative_path())
      OsFailure{errno}.raise("looking at '" + nearest.string() + "'");
    nearest = nearest.parent_path();
  }
  const int reason = !S_ISDIR(about.st_mode)                                              ? ENOTDIR
                     : faccessat(AT_FDCWD, nearest.c_str(), W_OK | X_OK, AT_EACCESS) != 0 ? errno
                                                                                          : 0;
  if (reason != 0) OsFailure{reason}.raise("writing in '" + nearest.string() + "'");
}

void DirectoryStorage::settle(const std::string &id) {
  check_storage_id(id);
  const std::lock_guard guard(mutex_);
  if (unsettled_.erase(id) == 0) return;
  if (const std::optional<Staging> staging = Staging::find(options_.base, cluster_id_))
    staging->release(id);
}

}  // namespace det::storage
