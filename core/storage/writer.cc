#include "core/storage/writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <unordered_set>

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
    DirectoryWriter::abort();
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
