#include "core/storage/chunks/stored_chunks.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/storage/block_checksum.h"
#include "core/storage/file_transfer.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"

namespace det::storage {

namespace fs = std::filesystem;

namespace {

// What `read` says of a chunk that is not as it was stored names the file, too.
template <class Read>
void naming_chunk(const std::string &file, const Chunk &chunk, Read &&read) try {
  read();
} catch (const Error &error) {
  if (error.code == Code::not_found || error.code == Code::corrupt)
    throw_damaged(file, "of its chunk " + to_text(chunk.name) + ": " + error.what());
  throw;
}

// Files that are put together from their chunks.
class Assembly {
 public:
  Assembly(const Tree &stored, const Tree &target, Progress *progress)
      : stored_(stored), target_(target), progress_(progress) {}

  // `chunks` finds those of an owner.
  std::vector<HashedFile> run(const ChunkedFiles &files,
                              const std::function<DirectoryChunks &(const std::string &)> &chunks) {
    Buffer buffer;
    for (const auto &[path, file] : files) {
      if (progress_ != nullptr) progress_->expect(file.size, 1);
      start(std::make_shared<File>(target_, path, file, chunks(path)), buffer);
    }
    wait_for(pool_, buffer, progress_);
    return std::move(done_);
  }

 private:
  struct File {
    File(const Tree &tree, const std::string &file_path, const ChunkedFile &file,
         DirectoryChunks &found)
        : target_tree(tree),
          path(file_path),
          about(file),
          chunks(found),
          sums(checksum_blocks(file.size)),
          blocks_left(sums.size()) {}
    ~File() {
      if (target && !finished) remove_file_beneath(target_tree, path);
    }

    const Tree &target_tree;
    const std::string &path;
    const ChunkedFile &about;
    DirectoryChunks &chunks;
    Fd target;
    bool finished = false;
    std::vector<uint64_t> sums;
    std::atomic<size_t> blocks_left;
  };

  void start(const std::shared_ptr<File> &file, Buffer &buffer) {
    const ChunkedFile &about = file->about;
    file->target = make_file_beneath(target_, file->path, about.mode);
    if (about.is_sparse) resize(file->target.get(), about.size, target_.name_of(file->path));
    size_t chunk = 0;
    for (size_t block = 0; block < file->sums.size(); ++block) {
      const size_t first = chunk;
      for (uint64_t size = 0; chunk < about.chunks.size() && size < checksum_block; ++chunk)
        size += about.chunks[chunk].size;
      pool_.submit(
          [this, file, block, first, end = chunk](Buffer &) {
            move_block(*file, block, first, end);
            if (--file->blocks_left == 0) finish(*file);
          },
          buffer);
    }
  }

  void move_block(File &file, size_t block, size_t first, size_t end) {
    std::unique_ptr<char[]> buffer;
    size_t capacity = 0;
    uint64_t at = block * checksum_block;
    Checksum sum;
    for (size_t i = first; i < end; ++i) {
      const Chunk &chunk = file.about.chunks[i];
      if (chunk.size > capacity) {
        capacity = chunk.size;
        buffer.reset(new char[capacity]);
      }
      naming_chunk(stored_.name_of(file.path), chunk,
                   [&] { file.chunks.get(chunk.name, buffer.get(), chunk.size); });
      sum.add(buffer.get(), chunk.size);
      (file.about.is_sparse ? write_sparsely_at : write_all_at)(
          file.target.get(), {buffer.get(), chunk.size}, at, target_.name_of(file.path));
      at += chunk.size;
      if (progress_ != nullptr) progress_->add_bytes(chunk.size);
    }
    file.sums[block] = sum.value();
  }

  void finish(File &file) {
    const FileAttributes attributes{file.about.mode, file.about.mtime_ns};
    const struct stat about =
        set_attributes(file.target.get(), attributes.as_stat(), target_.name_of(file.path));
    file.finished = true;
    if (progress_ != nullptr) progress_->add_file();
    const std::lock_guard lock(mutex_);
    done_.push_back({file.path, FileStamp::of(about), combined_checksum(file.sums)});
  }

  const Tree &stored_;
  const Tree &target_;
  Progress *const progress_;
  std::mutex mutex_;
  std::vector<HashedFile> done_;
  Pool pool_;  // last: its threads use what stands above
};

}  // namespace

StoredChunks::StoredChunks(const fs::path &base, const Tree &stored,
                           const std::optional<Manifest> &manifest)
    : stored_(stored), base_(base) {
  std::optional<ChunkedFiles> list = read_chunk_list(stored);
  if (!list) return;
  if (!manifest)
    throw_damaged("'" + stored.name.string() + "'",
                  "its manifest is missing, but it has files in chunks");
  std::erase_if(*list, [&](const auto &file) { return !manifest->contains(file.first); });
  files_ = *std::move(list);
  for (const auto &[path, file] : files_) {
    if (file.size != manifest->at(path).size)
      throw_damaged(stored.name_of(path), "its chunks have " + std::to_string(file.size) +
                                              " bytes instead of " +
                                              std::to_string(manifest->at(path).size));
    all_.insert(path);
  }
}

void StoredChunks::add_to(std::vector<TreeEntry> &entries) const {
  if (empty()) return;
  std::erase_if(entries, [&](const TreeEntry &entry) { return all_.contains(entry.path); });
  for (const auto &[path, file] : files_) {
    TreeEntry entry{path, {}};
    entry.about.st_mode = S_IFREG;
    entry.about.st_size = static_cast<off_t>(file.size);
    entries.push_back(std::move(entry));
  }
}

void StoredChunks::take_from(std::vector<TreeEntry> &entries) {
  if (all_.empty()) return;
  std::set<std::string> wanted, directories;
  std::erase_if(entries, [&](const TreeEntry &entry) {
    if (!all_.contains(entry.path)) return false;
    add_directories_of(entry.path, directories);
    wanted.insert(entry.path);
    return true;
  });
  std::erase_if(files_, [&](const auto &file) { return !wanted.contains(file.first); });
  for (const std::string &path : directories) entries.push_back({path + "/", {}});
}

Manifest StoredChunks::rest_of(const Manifest &manifest) const {
  Manifest rest = manifest;
  std::erase_if(rest, [&](const auto &entry) { return all_.contains(entry.first); });
  return rest;
}

void StoredChunks::forget_all_but(const Resources &remaining) const {
  ChunkedFiles left = files_;
  if (std::erase_if(left, [&](const auto &file) { return !remaining.contains(file.first); }) == 0)
    return;
  const std::optional<uid_t> owner = chunk_owner_of(stored_);
  note_garbage_of(base_, owner);
  write_chunk_list(stored_, left);
  note_garbage_of(base_, owner);  // again: a sweep may have been in between
}

DirectoryChunks &StoredChunks::chunks_of(const std::string &path) const {
  const std::string &owner = files_.at(path).owner;
  auto found = stores_.find(owner);
  if (found == stores_.end())
    found = stores_.emplace(owner, DirectoryChunks::find(base_, owner)).first;
  if (!found->second) throw_damaged(stored_.name_of(path), "its chunks are missing");
  return *found->second;
}

void StoredChunks::verify() const {
  Pool pool;
  Buffer buffer;
  for (const auto &[path, file] : files_)
    pool.submit(
        [name = stored_.name_of(path), &file = file, &chunks = chunks_of(path)](Buffer &) {
          for (const Chunk &chunk : file.chunks)
            naming_chunk(name, chunk, [&] {
              const std::optional<uint64_t> size = chunks.find(chunk.name);
              if (!size) throw Error(Code::not_found, "it is missing");
              if (*size != chunk.size)
                throw Error(Code::corrupt, "it has " + std::to_string(*size) +
                                               " bytes instead of " + std::to_string(chunk.size));
            });
        },
        buffer);
  pool.wait(buffer);
}

std::vector<HashedFile> StoredChunks::assemble(const Tree &target, Progress *progress) const {
  return Assembly(stored_, target, progress)
      .run(
          files_, [this](const std::string &path) -> auto & { return chunks_of(path); });
}

}  // namespace det::storage
