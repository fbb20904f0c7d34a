#include "core/storage/writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <unordered_set>

#include "core/storage/durable.h"
#include "core/storage/manifest.h"

namespace det {

namespace fs = std::filesystem;

namespace {

std::vector<TreeEntry> only(std::vector<TreeEntry> entries, const std::vector<std::string> &paths,
                            const Tree &source) {
  std::unordered_set<std::string> wanted(paths.begin(), paths.end());
  std::erase_if(entries, [&](const TreeEntry &entry) { return wanted.erase(entry.path) == 0; });
  if (!wanted.empty())
    throw Error(Code::not_found, "storing " + source.name_of(*wanted.begin()) +
                                     ": it is not in the directory; list the directory again");
  return entries;
}

fs::path existing(fs::path tree) {
  struct stat about {};
  if (stat(tree.c_str(), &about) != 0 && errno == ENOENT)
    throw Error(Code::not_found, "joining the checkpoint in '" + tree.string() +
                                     "': it is not there; give all ranks the same storage "
                                     "directory, on a file system that all machines share");
  return tree;
}

const HashedFile *unchanged(const HashedFiles &files, const TreeEntry &entry) {
  const auto found = files.find(entry.path);
  if (found == files.end() || found->second.stamp != FileStamp::of(entry.about)) return nullptr;
  return &found->second;
}

}  // namespace

DirectoryWriter::DirectoryWriter(const fs::path &base, const std::string &id, bool durable)
    : base_(base),
      id_(id),
      durable_(durable),
      staging_(base),
      owner_(true),
      lock_(staging_.claim(id)),
      tree_(staging_.tree_of(id)) {}

DirectoryWriter::DirectoryWriter(const fs::path &base, const std::string &id, bool durable, Joining)
    : base_(base),
      id_(id),
      durable_(durable),
      staging_(base),
      owner_(false),
      tree_(existing(staging_.tree_of(id))) {}

DirectoryWriter::~DirectoryWriter() {
  if (guard_.in_child() || !owner_ || (state_ != State::writing && state_ != State::damaged))
    return;
  try {
    abort();
  } catch (const Error &) {
    // A sweep tries again once this process is gone.
  }
}

void DirectoryWriter::require_own_process() const {
  if (guard_.in_child())
    throw Error(Code::state, "writing checkpoint '" + id_ +
                                 "': this is a forked child of the process that began it; leave it "
                                 "to the parent");
}

void DirectoryWriter::require_owner(const char *tried) const {
  if (!owner_)
    throw Error(Code::state, std::string(tried) + " '" + id_ +
                                 "': this rank joined it; the rank that began it commits");
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
  require_writing("adding to checkpoint");
  state_ = State::damaged;
  const Tree from(source);
  std::vector<TreeEntry> entries =
      scan_tree(from, {.enter_links = !paths, .sizes = false, .never = &tree_});
  if (paths) entries = only(std::move(entries), *paths, from);
  for (HashedFile &file : copy_tree(from, entries, tree_.name, {.start_writing = durable_}))
    hashed_[file.path] = std::move(file);
  state_ = State::writing;
}

Resources DirectoryWriter::list() const {
  return resources_of(scan_tree(tree_, {.outside = Code::invalid}));
}

std::string DirectoryWriter::finish(const std::vector<std::string> &paths) {
  require_writing("finishing checkpoint");
  std::vector<std::string> unknown;
  for (const std::string &path : paths)
    if (!hashed_.contains(path)) unknown.push_back(path);
  for (HashedFile &file : hash_files(tree_, unknown)) hashed_[file.path] = std::move(file);
  if (durable_) {
    std::vector<TreeEntry> entries;
    for (const auto &[path, file] : hashed_) entries.push_back({path, {}});
    sync_entries(tree_, entries);
  }
  return pack_share(hashed_);
}

Resources DirectoryWriter::commit(const std::vector<std::string> &finished) {
  require_writing("committing checkpoint");
  require_owner("committing checkpoint");
  try {
    Resources resources = seal(unpack_shares(finished));
    publish();
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

// Writes the manifest and brings to the disk what is not there yet.
Resources DirectoryWriter::seal(const HashedFiles &finished) {
  std::vector<TreeEntry> entries = scan_tree(tree_, {.outside = Code::invalid});
  std::vector<std::string> unknown;
  Resources resources = resources_of(entries);
  Manifest manifest;
  for (const TreeEntry &entry : entries) {
    if (entry.is_directory()) continue;
    if (!S_ISREG(entry.about.st_mode))
      throw Error(Code::invalid, "committing " + tree_.name_of(entry.path) +
                                     ": neither a file nor a directory (a pipe, socket or device); "
                                     "take it out of the checkpoint");
    const HashedFile *known = unchanged(finished, entry);
    if (known == nullptr) known = unchanged(hashed_, entry);
    if (known != nullptr) manifest[entry.path] = {known->stamp.size, known->checksum};
    else unknown.push_back(entry.path);
  }
  for (const HashedFile &file : hash_files(tree_, unknown))
    manifest[file.path] = {file.stamp.size, file.checksum};
  write_manifest(tree_, manifest);
  if (durable_) {
    std::erase_if(entries, [&](const TreeEntry &e) { return unchanged(finished, e) != nullptr; });
    sync_tree(tree_, entries);
    // The lock too: after a power cut it tells that the master may not know the checkpoint.
    sync_directory(staging_.root());
  }
  return resources;
}

void DirectoryWriter::publish() {
  const fs::path target = base_ / id_;
  struct stat about {};
  if (lstat(target.c_str(), &about) == 0)
    throw Error(Code::conflict,
                "publishing checkpoint '" + target.string() + "': the id is taken; use a new id");
  if (rename(tree_.name.c_str(), target.c_str()) != 0)
    throw_errno(errno, "publishing checkpoint '" + target.string() + "'");
  state_ = State::committed;
  if (durable_) sync_directory(base_);
}

void DirectoryWriter::announced() {
  require_own_process();
  if (state_ == State::announced) return;
  if (state_ != State::committed)
    throw Error(Code::state, "announcing checkpoint '" + id_ + "': it is not committed");
  state_ = State::announced;
  staging_.release(id_);
  lock_.reset();
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
  staging_.discard(visible ? base_ / id_ : tree_.name);
  staging_.release(id_);
  lock_.reset();
}

}  // namespace det
