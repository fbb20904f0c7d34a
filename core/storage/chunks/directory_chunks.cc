#include "core/storage/chunks/directory_chunks.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/process/process.h"
#include "core/base/uuid.h"
#include "core/storage/chunks/chunk_sweep.h"
#include "core/storage/file_transfer.h"
#include "core/storage/tree.h"

namespace det::storage {

namespace {

constexpr const char *chunks_name = ".chunks";
constexpr unsigned readable = S_IRUSR | S_IRGRP | S_IROTH;

// "ab", of the chunks whose names begin with these digits.
std::string directory_of(const ChunkName &name) { return to_text(name).substr(0, 2); }
std::string path_of(const ChunkName &name) { return directory_of(name) + "/" + to_text(name); }

bool is_chunk_directory(const Name &name) { return name.text.size() == 2 && name.text[0] != '.'; }

unsigned mode_of_chunk(unsigned mode) { return (mode & readable) | S_IRUSR | S_IWUSR; }

Fd open_directory_at(int at, const std::string &name) {
  return Fd(openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

Tree make_directory_of(const Tree &tree, const std::string &path) {
  if (mkdirat(tree.fd.get(), path.c_str(), default_directory_mode) != 0 && errno != EEXIST)
    OsFailure{errno}.raise("making directory " + tree.name_of(path));
  Fd made(open_beneath(tree.fd.get(), path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (!made) OsFailure{errno}.raise("opening directory " + tree.name_of(path));
  return {tree.name / path, std::move(made)};
}

std::string list_path(const std::string &writer = {}) {
  return std::string(chunks_directory) + "/" + (writer.empty() ? "" : writer + "/") +
         chunk_list_name;
}

// That at `path` below an open directory.
std::optional<ChunkedFiles> read_chunk_list_at(const Tree &tree, const std::string &path) {
  const Fd file(open_beneath(tree.fd.get(), path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!file) OsFailure{errno}.raise("opening " + tree.name_of(path));
  return unpack_chunk_list(read_all(file.get(), tree.name_of(path)), tree.name_of(path));
}

std::string owner_of_chunks(uid_t user) { return "u" + std::to_string(user); }

}  // namespace

std::vector<std::string> owners_of_chunks(const Tree &base) {
  std::vector<std::string> owners;
  const Fd all = open_directory_at(base.fd.get(), chunks_name);
  if (!all && errno == ENOENT) return owners;
  if (!all) OsFailure{errno}.raise("opening " + base.name_of(chunks_name));
  for (const Name &name : names_in(all, base.name_of(chunks_name)))
    if (name.text[0] != '.') owners.push_back(name.text);
  return owners;
}

DirectoryChunks::DirectoryChunks(std::string owner, Tree root, const Tree *aside, bool durable)
    : owner_(std::move(owner)), root_(std::move(root)), aside_(aside), durable_(durable) {}

DirectoryChunks DirectoryChunks::open(const Tree &base, const Tree &aside, bool durable) {
  struct stat about {};
  if (fstat(aside.fd.get(), &about) != 0)
    OsFailure{errno}.raise("looking at '" + aside.name.string() + "'");
  const uid_t user = about.st_uid;
  const Tree all(
      base.name / chunks_name,
      make_directory_at(base.fd.get(), chunks_name, Sharing::storage, base.name / chunks_name));
  const std::string owner = owner_of_chunks(user);
  const std::filesystem::path path = all.name / owner;
  const bool made = mkdirat(all.fd.get(), owner.c_str(), 0755) == 0;
  if (!made && errno != EEXIST) OsFailure{errno}.raise("making directory '" + path.string() + "'");
  Fd root = open_directory_at(all.fd.get(), owner);
  if (!root || fstat(root.get(), &about) != 0)
    OsFailure{errno}.raise("opening '" + path.string() + "'");
  if (about.st_uid != user || (about.st_mode & S_IWOTH) != 0)
    throw Error(Code::access,
                "storing chunks in '" + path.string() +
                    "': others may write there too; see who may write to the storage, "
                    "or remove `deduplicate` from checkpoint_storage");
  if (made && durable)
    for (const Tree *parent : {&all, &base})
      if (fsync(parent->fd.get()) != 0 && errno != EINVAL)
        OsFailure{errno}.raise("syncing directory '" + parent->name.string() + "'");
  // A client of a network file system that remembers what was there asks the server again.
  DirectoryChunks chunks(owner, Tree(path, std::move(root)), &aside, durable);
  for (const Name &name : chunks.names())
    if (is_chunk_directory(name)) open_directory_at(chunks.root_.fd.get(), name.text);
  return chunks;
}

std::optional<DirectoryChunks> DirectoryChunks::find(const Tree &base, const std::string &owner) {
  const std::string path = std::string(chunks_name) + "/" + owner;
  Fd root(open_beneath(base.fd.get(), path, O_RDONLY | O_DIRECTORY));
  if (!root && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  if (!root) OsFailure{errno}.raise("opening " + base.name_of(path));
  return DirectoryChunks(owner, Tree(base.name / path, std::move(root)), nullptr, true);
}

// Anew, since an open directory is read on from where it was left.
std::vector<Name> DirectoryChunks::names() const {
  const Fd again = open_directory_at(root_.fd.get(), ".");
  if (!again) OsFailure{errno}.raise("opening '" + root_.name.string() + "'");
  return names_in(again, "'" + root_.name.string() + "'");
}

// What lies in a file that somebody may read, he may read here too: permissions only grow.
bool DirectoryChunks::share_with(const std::string &path, unsigned mode) const {
  struct stat about {};
  if (fstatat(root_.fd.get(), path.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    OsFailure{errno}.raise("looking at " + root_.name_of(path));
  }
  const unsigned wanted = (about.st_mode & 0777) | (mode & readable);
  if (wanted != (about.st_mode & 0777) && fchmodat(root_.fd.get(), path.c_str(), wanted, 0) != 0 &&
      errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != ENOENT)
    OsFailure{errno}.raise("setting the mode of " + root_.name_of(path));
  return true;
}

bool DirectoryChunks::has(const ChunkName &name, unsigned mode) {
  {
    const std::lock_guard lock(*mutex_);
    if (const auto found = fresh_.find(name); found != fresh_.end()) {
      found->second |= mode & readable;
      return true;
    }
  }
  if (!share_with(path_of(name), mode)) return false;
  const std::lock_guard lock(*mutex_);
  used_[name.digest[0]] = true;
  return true;
}

void DirectoryChunks::put(const ChunkName &name, std::string_view bytes, unsigned mode) {
  {
    const std::lock_guard lock(*mutex_);
    const auto [found, is_new] = fresh_.try_emplace(name, mode_of_chunk(mode));
    found->second |= mode & readable;
    if (!is_new) return;
    used_[name.digest[0]] = true;
  }
  const std::string leaf = to_text(name);
  const Fd file(openat(aside_->fd.get(), leaf.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (!file) OsFailure{errno}.raise("making " + aside_->name_of(leaf));
  write_all(file.get(), bytes, (aside_->name / leaf).string());
  if (durable_) sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

void DirectoryChunks::flush() {
  std::vector<TreeEntry> files, directories;
  for (const auto &[name, mode] : fresh_) {
    const std::string leaf = to_text(name);
    if (mode != (S_IRUSR | S_IWUSR) && fchmodat(aside_->fd.get(), leaf.c_str(), mode, 0) != 0)
      OsFailure{errno}.raise("setting the mode of " + aside_->name_of(leaf));
    files.push_back({leaf, {}});
  }
  if (durable_) sync_entries(*aside_, files);
  bool made = false;
  for (size_t first = 0; first < used_.size(); ++first) {
    if (!used_[first]) continue;
    ChunkName example;
    example.digest[0] = static_cast<unsigned char>(first);
    const std::string name = directory_of(example);
    if (mkdirat(root_.fd.get(), name.c_str(), 0755) == 0) made = true;
    else if (errno != EEXIST) OsFailure{errno}.raise("making directory " + root_.name_of(name));
    directories.push_back({name + "/", {}});
  }
  for (const auto &[name, mode] : fresh_) give_place(name, mode);
  fresh_.clear();
  if (durable_) {
    sync_entries(root_, directories);
    if (made && fsync(root_.fd.get()) != 0 && errno != EINVAL)
      OsFailure{errno}.raise("syncing '" + root_.name.string() + "'");
  }
  used_ = {};
}

void DirectoryChunks::give_place(const ChunkName &name, unsigned mode) {
  const std::string leaf = to_text(name);
  const std::filesystem::path path = root_.name / directory_of(name);
  const Tree directory(path, open_directory_at(root_.fd.get(), directory_of(name)));
  if (!directory.fd) OsFailure{errno}.raise("opening directory '" + path.string() + "'");
  if (rename_new(*aside_, directory, leaf)) return;
  if (errno != EEXIST) OsFailure{errno}.raise("renaming to " + directory.name_of(leaf));
  // Somebody else was faster with the same bytes.
  share_with(path_of(name), mode);
  unlinkat(aside_->fd.get(), leaf.c_str(), 0);
}

std::optional<uint64_t> DirectoryChunks::find(const ChunkName &name) {
  struct stat about {};
  const std::string path = path_of(name);
  if (fstatat(root_.fd.get(), path.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0)
    return S_ISREG(about.st_mode) ? std::optional<uint64_t>(about.st_size) : std::nullopt;
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  OsFailure{errno}.raise("looking at " + root_.name_of(path));
}

void DirectoryChunks::get(const ChunkName &name, char *into, size_t size) {
  const std::string path = path_of(name);
  const Fd file(open_beneath(root_.fd.get(), path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
  if (!file) OsFailure{errno}.raise("opening " + root_.name_of(path));
  struct stat about {};
  if (fstat(file.get(), &about) != 0) OsFailure{errno}.raise("looking at " + root_.name_of(path));
  if (!S_ISREG(about.st_mode) || static_cast<uint64_t>(about.st_size) != size)
    throw Error(Code::corrupt, "it has " + std::to_string(about.st_size) + " bytes instead of " +
                                   std::to_string(size));
  for (size_t at = 0; at < size;) {
    const ssize_t got = pread(file.get(), into + at, size - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) OsFailure{errno}.raise("reading " + root_.name_of(path));
    if (got == 0) throw Error(Code::corrupt, "it ends too early");
    at += static_cast<size_t>(got);
  }
}

void DirectoryChunks::list(const std::function<void(const ChunkName &)> &each) {
  for (const Name &name : names()) {
    if (!is_chunk_directory(name)) continue;
    const Fd directory = open_directory_at(root_.fd.get(), name.text);
    if (!directory) OsFailure{errno}.raise("opening " + root_.name_of(name.text));
    for (const Name &chunk : names_in(directory, root_.name_of(name.text)))
      if (const std::optional<ChunkName> found = chunk_name_from(chunk.text)) each(*found);
  }
}

void DirectoryChunks::remove(const std::vector<ChunkName> &names) {
  for (const ChunkName &name : names) {
    const std::string path = path_of(name);
    if (unlinkat(root_.fd.get(), path.c_str(), 0) != 0 && errno != ENOENT)
      OsFailure{errno}.raise("removing " + root_.name_of(path));
  }
}

std::vector<std::string> DirectoryChunks::notes() {
  std::vector<std::string> notes;
  for (const Name &name : names())
    if (name.text[0] != '.' && !is_chunk_directory(name)) notes.push_back(name.text);
  return notes;
}

std::optional<std::string> DirectoryChunks::note(const std::string &name) {
  const Fd file(open_beneath(root_.fd.get(), name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW));
  if (!file && errno == ENOENT) return std::nullopt;
  if (!file) OsFailure{errno}.raise("opening " + root_.name_of(name));
  return read_all(file.get(), (root_.name / name).string());
}

void DirectoryChunks::write_note(const std::string &name, std::string_view text) {
  replace_file(root_, name, text);
}

void DirectoryChunks::remove_note(const std::string &name) {
  if (unlinkat(root_.fd.get(), name.c_str(), 0) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("removing " + root_.name_of(name));
}

std::optional<ChunkedFiles> read_chunk_list(const Tree &tree) {
  return read_chunk_list_at(tree, list_path());
}

void write_chunk_list(const Tree &tree, const ChunkedFiles &files) {
  replace_file(make_directory_of(tree, chunks_directory), chunk_list_name, pack_chunk_list(files));
}

ChunkedFiles gather_chunk_lists(const Tree &tree) {
  ChunkedFiles all;
  const Fd opened(open_beneath(tree.fd.get(), chunks_directory, O_RDONLY | O_DIRECTORY));
  if (!opened && errno == ENOENT) return all;
  if (!opened) OsFailure{errno}.raise("opening " + tree.name_of(chunks_directory));
  for (const Name &name : names_in(opened, tree.name_of(chunks_directory)))
    if (std::optional<ChunkedFiles> files = read_chunk_list_at(
            tree, name.text == chunk_list_name ? list_path() : list_path(name.text)))
      all.merge(*files);
  return all;
}

void finish_chunk_lists(const Tree &tree, const ChunkedFiles &files) {
  const Tree all = make_directory_of(tree, chunks_directory);
  replace_file(all, chunk_list_name, pack_chunk_list(files));
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

namespace {

// The lists and the savers of a storage on a file system.
class DirectoryReferences : public ChunkReferences {
 public:
  // Of the chunks of `owner`; both trees outlive this.
  DirectoryReferences(const Tree &base, const Tree &unfinished, std::string owner, uid_t user)
      : base_(base), unfinished_(unfinished), owner_(std::move(owner)), user_(user) {}

  std::set<ChunkName> named() override;
  std::set<std::string> savers() override;

 private:
  template <class Each>
  void each_directory(const Tree &trees, Each &&each) const;

  const Tree &base_;
  const Tree &unfinished_;
  const std::string owner_;
  const uid_t user_;
};

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

// The directory of one writer, `.detcore-chunks/<uuid>`: until finish_chunk_lists() it shows the
// writer to sweeps. In it are the chunks that have no name yet, and its list.
class StagedTurn : public ChunkTurn {
 public:
  StagedTurn(const Tree &base, const Tree &tree, bool durable)
      : own_(make_directory_of(tree, chunks_directory + ("/" + make_uuid()))),
        chunks_(DirectoryChunks::open(base, own_, durable)) {}

  Chunks &chunks() override { return chunks_; }
  void publish(const ChunkedFiles &files) override {
    replace_file(own_, chunk_list_name, pack_chunk_list(files));
  }

 private:
  const Tree own_;
  DirectoryChunks chunks_;
};

}  // namespace

ChunkSaver::Begin stage_chunks(const Tree &base, const Tree &tree, bool durable) {
  return [&base, &tree, durable, turn = std::shared_ptr<ChunkTurn>()]() mutable {
    if (!turn) {
      make_directory_of(tree, chunks_directory);
      turn = std::make_shared<StagedTurn>(base, tree, durable);
    }
    return turn;
  };
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

}  // namespace det::storage
