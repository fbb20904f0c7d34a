#include "core/storage/directory_storage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <unordered_map>

#include "core/storage/glob.h"
#include "core/storage/manifest.h"
#include "core/storage/writer.h"

namespace det {

namespace fs = std::filesystem;

namespace {

class StoredDirectory : public CheckpointReader {
 public:
  explicit StoredDirectory(fs::path path) : path_(std::move(path)) {}
  const fs::path &path() const override { return path_; }

 private:
  const fs::path path_;
};

}  // namespace

DirectoryStorage::DirectoryStorage(Options options, std::shared_ptr<Logger> logger)
    : options_(std::move(options)), logger_(std::move(logger)), staging_(options_.base) {}

std::unique_ptr<CheckpointWriter> DirectoryStorage::begin(const std::string &id) {
  check_storage_id(id);
  struct stat about {};
  if (lstat((options_.base / id).c_str(), &about) == 0)
    throw Error(Code::conflict, "starting checkpoint '" + (options_.base / id).string() +
                                    "': the id is taken; use a new id");
  return std::make_unique<DirectoryWriter>(options_.base, id, options_.durable);
}

std::unique_ptr<CheckpointWriter> DirectoryStorage::join(const std::string &id) {
  check_storage_id(id);
  // Asks the server, where a client of a network file system remembers that there was nothing.
  make_shared_directories(staging_.root());
  return std::make_unique<DirectoryWriter>(options_.base, id, options_.durable,
                                           DirectoryWriter::Joining{});
}

Resources DirectoryStorage::list(const std::string &id) {
  const Tree stored = open_stored(id);
  Resources resources = resources_of(scan_tree(stored, {.outside = Code::corrupt}));
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
  if (!is_stored(id))
    throw Error(Code::not_found, "opening checkpoint '" + (options_.base / id).string() +
                                     "': nothing is stored under that id; check the id and the "
                                     "storage");
  return Tree(options_.base / id);
}

void DirectoryStorage::download(const std::string &id, const fs::path &target,
                                const Selector &selector, bool checksums) {
  const Tree stored = open_stored(id);
  std::vector<TreeEntry> entries =
      scan_tree(stored, {.enter_links = !selector, .sizes = false, .outside = Code::corrupt});
  const std::optional<Manifest> manifest = read_manifest(stored);
  Selector chosen;
  if (selector) {
    std::unordered_map<std::string, bool> verdicts;  // one call for each path
    for (const TreeEntry &entry : entries) verdicts[entry.path] = selector(entry.path);
    std::erase_if(entries, [&](const TreeEntry &entry) { return !verdicts[entry.path]; });
    chosen = [&selector, verdicts = std::move(verdicts)](const std::string &path) {
      const auto verdict = verdicts.find(path);
      return verdict == verdicts.end() ? selector(path) : verdict->second;
    };
  }
  if (manifest) verify(stored, *manifest, chosen, false);
  if (selector && entries.empty()) return;
  make_directories(target);
  const bool compare = checksums && manifest;
  const std::vector<HashedFile> copied =
      copy_tree(stored, entries, target, {.confined = true, .checksums = compare});
  if (!compare) return;
  for (const HashedFile &file : copied) try {
      verify_checksum(stored, *manifest, file);
    } catch (const Error &) {
      unlink((target / file.path).c_str());
      throw;
    }
}

std::unique_ptr<CheckpointReader> DirectoryStorage::restore(const std::string &id,
                                                            const Selector &selector,
                                                            bool checksums) {
  check_storage_id(id);
  struct stat about {};
  if (stat(options_.base.c_str(), &about) != 0 || !S_ISDIR(about.st_mode))
    throw Error(Code::not_found, "restoring checkpoint '" + id + "': the storage directory '" +
                                     options_.base.string() + "' does not exist; check `" +
                                     options_.base_key + "`");
  const Tree stored = open_stored(id);
  if (selector)
    logger_->warning("restoring checkpoint '" + id +
                     "': this storage hands out the stored directory, so the selector is ignored");
  if (const std::optional<Manifest> manifest = read_manifest(stored))
    verify(stored, *manifest, nullptr, checksums);
  return std::make_unique<StoredDirectory>(stored.name);
}

void DirectoryStorage::remove(const std::string &id) {
  const bool stored = is_stored(id);
  if (stored) {
    make_shared_directories(staging_.root());
    staging_.discard(options_.base / id);
  }
  const std::lock_guard lock(mutex_);
  if (orphans_.erase(id) > 0 || stored) staging_.release(id);
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
  const Matches matches = match_globs(list_directory(stored.name), globs, *logger_);
  if (matches.remaining.empty()) {
    remove(id);
    return {};
  }
  // The manifest first: a file too many does no harm, one that is missed makes a checkpoint
  // unusable.
  if (std::optional<Manifest> manifest = read_manifest(stored)) {
    std::erase_if(*manifest,
                  [&](const auto &entry) { return !matches.remaining.contains(entry.first); });
    replace_manifest(stored, *manifest);
  }
  for (const std::string &path : matches.removed) remove_tree(stored.name / path);
  return matches.remaining;
}

std::vector<std::string> DirectoryStorage::sweep() {
  std::vector<Staging::Orphan> found = staging_.sweep(*logger_);
  const std::lock_guard lock(mutex_);
  for (Staging::Orphan &orphan : found) {
    struct stat about {};
    if (lstat((options_.base / orphan.id).c_str(), &about) == 0)
      orphans_.insert_or_assign(orphan.id, std::move(orphan.lock));
    else staging_.release(orphan.id);
  }
  std::vector<std::string> ids;
  for (const auto &[id, held] : orphans_) ids.push_back(id);
  return ids;
}

void DirectoryStorage::adopt(const std::string &id) {
  check_storage_id(id);
  const std::lock_guard lock(mutex_);
  orphans_.erase(id);
  staging_.release(id);
}

}  // namespace det
