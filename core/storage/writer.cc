#include "core/storage/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <utility>

#include "core/storage/manifest.h"

namespace det::storage {

namespace fs = std::filesystem;

DirectoryWriter::DirectoryWriter(Staging staging, const std::string &id, bool durable)
    : id_(id),
      durable_(durable),
      staging_(std::move(staging)),
      owner_(true),
      tree_(staging_.claim(id, lock_)) {}

DirectoryWriter::DirectoryWriter(Staging staging, const std::string &id, bool durable, Joining)
    : id_(id),
      durable_(durable),
      staging_(std::move(staging)),
      owner_(false),
      tree_(staging_.join(id)) {}

namespace {

// Seen in the place where it was published, else where it was written.
Tree open_sealed(const Staging &staging, const std::string &id, bool &is_visible) {
  const fs::path visible = staging.base() / id;
  Fd tree(open(visible.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  is_visible = static_cast<bool>(tree);
  if (is_visible) return {visible, std::move(tree)};
  return staging.join(id);
}

}  // namespace

DirectoryWriter::DirectoryWriter(Staging staging, Staging::Sealed sealed, bool durable)
    : id_(sealed.id),
      durable_(durable),
      staging_(std::move(staging)),
      owner_(true),
      was_begun_(true),
      lock_(std::move(sealed.lock)),
      tree_(open_sealed(staging_, id_, was_committed_)) {
  if (was_committed_) {
    state_ = State::committed;
    return;
  }
  shares_.remove();
  // Of a tree that was complete on the disk before the power went, the manifest tells.
  if (!sealed.is_of_this_boot) {
    const std::optional<Manifest> manifest = read_manifest(tree_);
    if (!manifest)
      throw Error(Code::corrupt, "finishing checkpoint '" + id_ +
                                     "': the machine has been started again since, and what was "
                                     "not on the disk is lost");
    verify(tree_, *manifest, nullptr, true);
  }
  if (unlinkat(tree_.fd.get(), manifest_name, 0) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("removing " + tree_.name_of(manifest_name));
}

DirectoryWriter::~DirectoryWriter() {
  if (guard_.in_child() || !owner_ || (state_ != State::writing && state_ != State::damaged))
    return;
  try {
    DirectoryWriter::abort();
  } catch (const std::exception &) {
    // A sweep tries again once this process is gone.
  }
}

void DirectoryWriter::require_own_process() const {
  if (guard_.in_child())
    throw Error(Code::state, "writing checkpoint '" + id_ +
                                 "': this is a forked child of the process that began it; leave it "
                                 "to the parent");
}

void DirectoryWriter::require_writing(const char *tried) const {
  require_own_process();
  if (state_ == State::damaged)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': adding to it failed before; abort it and begin a new one");
  if (state_ != State::writing)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': it is committed or aborted already; begin a new one");
}

void DirectoryWriter::add(const fs::path &source,
                          const std::optional<std::vector<std::string>> &paths) {
  for (HashedFile &file : bring(source, paths, {.start_writing = durable_}))
    hashed_[file.path] = std::move(file);
}

void DirectoryWriter::copy(const fs::path &source,
                           const std::optional<std::vector<std::string>> &paths) {
  bring(source, paths, {.checksums = false, .spares = spares_.get()});
}

std::vector<HashedFile> DirectoryWriter::bring(const fs::path &source,
                                               const std::optional<std::vector<std::string>> &paths,
                                               const TransferOptions &options) {
  require_writing("adding to checkpoint");
  state_ = State::damaged;
  const Tree from(source);
  check_source(from);
  std::vector<TreeEntry> entries =
      scan_tree(from, {.enter_links = !paths, .sizes = chunks_ != nullptr, .never = &tree_});
  if (paths) entries = only(std::move(entries), *paths, from);
  // What is only copied, in a hurry, is cut by finish() and commit().
  if (chunks_ && options.checksums) entries = cut(from, std::move(entries));
  std::vector<HashedFile> files = copy_tree(from, entries, tree_, options);
  state_ = State::writing;
  return files;
}

void DirectoryWriter::put(const std::string &name, std::string_view bytes) {
  require_writing("adding to checkpoint");
  const int root = tree_.fd.get();
  // Made anew, so that neither a link nor another name of the old file is written through.
  if (unlinkat(root, name.c_str(), 0) != 0 && errno != ENOENT)
    OsFailure{errno}.raise("replacing " + tree_.name_of(name));
  if (chunks_) chunks_->forget(name);
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const Fd file(openat(root, name.c_str(), flags, default_file_mode));
  if (!file) OsFailure{errno}.raise("making " + tree_.name_of(name));
  write_all(file.get(), bytes, (tree_.name / name).string());
}

void DirectoryWriter::know(const HashedFile &file) {
  require_writing("adding to checkpoint");
  hashed_[file.path] = file;
}

Resources DirectoryWriter::list() const {
  Resources resources =
      resources_of(state_ == State::writing ? scan_written(tree_, false)
                                            : scan_tree(tree_, {.outside = Code::invalid}));
  for (const auto &[path, file] : gather_chunk_lists(tree_)) resources.try_emplace(path, file.size);
  return resources;
}

void DirectoryWriter::abort() {
  require_own_process();
  if (state_ == State::aborted) return;
  if (state_ == State::announced)
    throw Error(Code::state,
                "aborting checkpoint '" + id_ + "': it is announced; delete it instead");
  const bool visible = state_ == State::committed;
  state_ = State::aborted;
  if (!owner_) return;
  if (visible) staging_.discard_visible(id_);
  else staging_.discard_staged(id_);
  staging_.release(id_);
  lock_.reset();
}

}  // namespace det::storage
