#include "core/storage/chunks/chunk_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/storage/block_checksum.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"
#include "core/storage/pool.h"
#include "core/storage/progress.h"

namespace det::storage {

namespace {

class ChunkTransfer {
 public:
  // Without a target, chunks are only read; without `bytes`, only looked at.
  ChunkTransfer(const Tree &stored, const FindChunks &find, const Tree *target, bool bytes)
      : stored_(stored), find_(find), target_(target), bytes_(bytes) {}

  std::vector<HashedFile> run(const ChunkedFiles &files) {
    Buffer buffer;
    for (const auto &[path, file] : files) {
      if (progress_ != nullptr) progress_->expect(file.size, 1);
      start(path, file, buffer);
    }
    wait_for(pool_, buffer, progress_);
    return std::move(done_);
  }

 private:
  struct File {
    File(const Tree *tree, const std::string &file_path, const ChunkedFile &file)
        : path(file_path), about(file), target_tree(tree) {}
    ~File() {
      if (target && !finished) remove_file_beneath(*target_tree, path);
    }

    const std::string &path;
    const ChunkedFile &about;
    const Tree *target_tree;
    ChunkStore *store = nullptr;
    Fd target;
    bool finished = false;
    std::vector<uint64_t> sums;
    std::atomic<size_t> blocks_left{0};
  };

  void start(const std::string &path, const ChunkedFile &about, Buffer &buffer) {
    auto file = std::make_shared<File>(target_, path, about);
    file->store = find_(about.owner);
    if (file->store == nullptr) throw_damaged(stored_.name_of(path), "its chunks are missing");
    file->sums.resize(checksum_blocks(about.size));
    file->blocks_left = file->sums.size();
    if (target_ != nullptr) file->target = make_file_beneath(*target_, path, about.mode);
    if (file->target && about.is_sparse)
      resize(file->target.get(), about.size, target_->name_of(path));
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
      if (bytes_ && chunk.size > capacity) {
        capacity = chunk.size;
        buffer.reset(new char[capacity]);
      }
      read(file, chunk, buffer.get());
      if (bytes_) sum.add(buffer.get(), chunk.size);
      if (file.target)
        (file.about.is_sparse ? write_sparsely_at : write_all_at)(
            file.target.get(), {buffer.get(), chunk.size}, at, target_->name_of(file.path));
      at += chunk.size;
      if (progress_ != nullptr) progress_->add_bytes(chunk.size);
    }
    file.sums[block] = sum.value();
  }

  void read(const File &file, const Chunk &chunk, char *into) const try {
    if (bytes_) return file.store->get(chunk.name, into, chunk.size);
    const std::optional<uint64_t> size = file.store->find(chunk.name);
    if (!size) throw Error(Code::not_found, "it is missing");
    if (*size != chunk.size)
      throw Error(Code::corrupt, "it has " + std::to_string(*size) + " bytes instead of " +
                                     std::to_string(chunk.size));
  } catch (const Error &error) {
    if (error.code == Code::not_found || error.code == Code::corrupt)
      throw_damaged(stored_.name_of(file.path),
                    "of its chunk " + to_text(chunk.name) + ": " + error.what());
    throw;
  }

  void finish(File &file) {
    struct stat about {};
    about.st_size = static_cast<off_t>(file.about.size);
    if (file.target) {
      const FileAttributes attributes{file.about.mode, file.about.mtime_ns};
      about = set_attributes(file.target.get(), attributes.as_stat(), target_->name_of(file.path));
      file.finished = true;
    }
    if (progress_ != nullptr) progress_->add_file();
    const std::lock_guard lock(mutex_);
    done_.push_back({file.path, FileStamp::of(about), bytes_ ? combined_checksum(file.sums) : 0});
  }

  const Tree &stored_;
  const FindChunks &find_;
  const Tree *const target_;
  const bool bytes_;
  Progress *const progress_ = bytes_ ? Progress::current() : nullptr;
  std::mutex mutex_;
  std::vector<HashedFile> done_;
  Pool pool_;  // last: its threads use what stands above
};

}  // namespace

std::vector<HashedFile> assemble_files(const Tree &stored, const ChunkedFiles &files,
                                       const FindChunks &find, const Tree &target) {
  return ChunkTransfer(stored, find, &target, true).run(files);
}

std::vector<HashedFile> check_chunks(const Tree &stored, const ChunkedFiles &files,
                                     const FindChunks &find, bool checksums) {
  return ChunkTransfer(stored, find, nullptr, checksums).run(files);
}

}  // namespace det::storage
