#include "core/storage/chunks/staged_chunks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/base/error.h"
#include "core/base/process.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/chunk_saver.h"
#include "core/storage/shared_directory.h"

namespace det::storage {

namespace {

Tree make_directory_of(const Tree &tree, const std::string &path) {
  if (mkdirat(tree.fd.get(), path.c_str(), default_directory_mode) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory " + tree.name_of(path));
  Fd made(open_beneath(tree.fd.get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!made) OsFailure{errno}.raise("opening directory " + tree.name_of(path));
  return {tree.name / path, std::move(made)};
}

}  // namespace

StagedChunks::StagedChunks(const Tree &base, const Tree &tree, std::shared_ptr<ChunkMemory> memory,
                           std::shared_ptr<Logger> logger, bool durable)
    : base_(base),
      tree_(tree),
      memory_(std::move(memory)),
      logger_(std::move(logger)),
      durable_(durable) {}

void StagedChunks::begin() {
  if (own_) return;
  make_directory_of(tree_, chunks_directory);
  own_.emplace(make_directory_of(tree_, chunks_directory + ("/" + make_uuid())));
  chunks_.emplace(DirectoryChunks::open(base_, *own_, durable_));
  condemned_ = condemned_chunks(*chunks_);
}

void StagedChunks::add(const Tree &source, const std::vector<std::string> &paths, bool confined) {
  if (paths.empty()) return;
  begin();
  ChunkSaver saver(*chunks_, chunks_->owner(), condemned_, *memory_);
  ChunkedFiles saved = saver.save(source, paths, confined);
  chunks_->flush();
  uint64_t bytes = 0;
  for (auto &[path, file] : saved) {
    bytes += file.size;
    files_.insert_or_assign(path, std::move(file));
  }
  write_list();
  logger_->debug("stored " + std::to_string(bytes) + " bytes in chunks, " +
                 std::to_string(saver.new_bytes()) + " of them new");
}

void StagedChunks::forget(const std::string &path) {
  if (files_.erase(path) > 0) write_list();
}

void StagedChunks::write_list() const {
  replace_file(*own_, chunk_list_name, pack_chunk_list(files_));
}

void finish_chunk_lists(const Tree &tree, const ChunkedFiles &files) {
  write_chunk_list(tree, files);
  const Tree all = make_directory_of(tree, chunks_directory);
  for (const Name &name : names_in(all.fd, "'" + all.name.string() + "'"))
    if (name.text != chunk_list_name) remove_beneath(all.fd.get(), name.text, all.name / name.text);
}

std::optional<uid_t> chunk_owner_of(const Tree &tree) {
  struct stat about {};
  if (fstatat(tree.fd.get(), chunks_directory, &about, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  return about.st_uid;
}

void note_garbage_of(const Tree &base, std::optional<uid_t> owner) {
  if (!owner) return;
  std::optional<DirectoryChunks> chunks = DirectoryChunks::find(base, owner_of_chunks(*owner));
  if (!chunks) return;
  try {
    note_garbage(*chunks);
  } catch (const Error &error) {
    if (error.code != Code::access) throw;
  }
}

void reclaim_chunks(const Tree &base, const Tree &unfinished, Logger &logger) {
  for (const std::string &owner : owners_of_chunks(base)) try {
      std::optional<DirectoryChunks> chunks = DirectoryChunks::find(base, owner);
      if (!chunks || !has_garbage(*chunks)) continue;
      const std::filesystem::path turn = chunks->root().name / ".sweep.lock";
      const OwnerLock lock = OwnerLock::acquire(turn);
      if (owner_of_chunks(lock.user()) == owner) {
        DirectoryReferences references(base, unfinished, owner, lock.user());
        sweep_chunks(*chunks, references, logger);
      }
      unlink(turn.c_str());
    } catch (const Error &error) {
      // Another user's, or another process is at it.
      if (error.code != Code::busy && error.code != Code::access) throw;
    }
}

// For each tree that has files in chunks: its name, and the open directory with the lists.
template <class Each>
void DirectoryReferences::each_directory(const Tree &trees, Each &&each) const {
  const Fd again(openat(trees.fd.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!again) OsFailure{errno}.raise("opening '" + trees.name.string() + "'");
  for (const Name &name : names_in(again, "'" + trees.name.string() + "'")) {
    if (name.text[0] == '.' || (name.type != DT_DIR && name.type != DT_UNKNOWN)) continue;
    const std::string path = name.text + "/" + chunks_directory;
    Fd directory(open_beneath(trees.fd.get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    if (directory) {
      each(Tree(trees.name / path, std::move(directory)));
      continue;
    }
    const int reason = errno;
    if (reason == ENOENT || reason == ENOTDIR || reason == ELOOP || reason == EXDEV) continue;
    // What another user keeps to himself was made by him, of his chunks.
    struct stat about {};
    if (reason == EACCES &&
        fstatat(trees.fd.get(), name.text.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        about.st_uid != user_)
      continue;
    OsFailure{reason}.raise("opening " + trees.name_of(path));
  }
}

std::set<ChunkName> DirectoryReferences::named() {
  std::set<ChunkName> all;
  const auto add = [&](const std::optional<ChunkedFiles> &files) {
    if (!files) return;
    for (const auto &[path, file] : *files)
      if (file.owner == owner_)
        for (const Chunk &chunk : file.chunks) all.insert(chunk.name);
  };
  for (const Tree *trees : {&unfinished_, &base_})
    each_directory(*trees, [&](const Tree &lists) {
      // That of the whole comes last: it is there before those of the writers go.
      for (const Name &name : names_in(lists.fd, "'" + lists.name.string() + "'"))
        if (name.text != chunk_list_name)
          add(read_chunk_list_at(lists, name.text + "/" + chunk_list_name));
      add(read_chunk_list_at(lists, chunk_list_name));
    });
  return all;
}

std::set<std::string> DirectoryReferences::savers() {
  std::set<std::string> all;
  each_directory(unfinished_, [&](const Tree &lists) {
    for (const Name &name : names_in(lists.fd, "'" + lists.name.string() + "'"))
      if (name.text != chunk_list_name) all.insert(name.text);
  });
  return all;
}

}  // namespace det::storage
