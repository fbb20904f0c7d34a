#include "core/storage/chunks/directory_chunks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/storage/durable.h"
#include "core/storage/shared_directory.h"

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

}  // namespace

std::string owner_of_chunks(uid_t user) { return "u" + std::to_string(user); }

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

}  // namespace det::storage
