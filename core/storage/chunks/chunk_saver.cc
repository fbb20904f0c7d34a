#include "core/storage/chunks/chunk_saver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/storage/block_checksum.h"
#include "core/storage/chunks/chunk_sweep.h"
#include "core/storage/chunks/chunker.h"
#include "core/storage/file_transfer.h"

namespace det::storage {

namespace {

// One call of ChunkSaver::add().
class Cutter {
 public:
  // `condemned`: names that a sweep is about to remove, and that nobody may count on.
  Cutter(Chunks &chunks, const std::set<ChunkName> &condemned, ChunkMemory &memory,
         Progress *progress)
      : chunks_(chunks), condemned_(condemned), memory_(memory), progress_(progress) {}

  ChunkedFiles cut(const Tree &source, const std::vector<std::string> &paths, bool confined);
  uint64_t new_bytes() const { return new_bytes_; }  // that had to be stored

 private:
  struct File;
  class Block;

  void start(const Tree &source, const std::string &path, bool confined, Buffer &buffer);
  void save_block(File &file, size_t index);
  ChunkName place(ChunkName name, std::string_view bytes, unsigned mode);
  void finish(File &file);

  Chunks &chunks_;
  const std::set<ChunkName> &condemned_;
  ChunkMemory &memory_;
  Progress *const progress_;
  std::atomic<uint64_t> new_bytes_{0};
  std::mutex mutex_;
  ChunkedFiles done_;
  Pool pool_;  // last: its threads use what stands above
};

struct Cutter::File {
  std::string path, described;
  Fd source;
  struct stat before {};
  std::shared_ptr<const RememberedFile> remembered;  // null: nothing
  std::vector<uint64_t> sums;
  RememberedFile cut;
  std::atomic<size_t> blocks_left{0};

  uint64_t size() const { return static_cast<uint64_t>(before.st_size); }
};

// One block of a file, seen from its beginning to its end through a window.
class Cutter::Block {
 public:
  Block(const File &file, size_t index)
      : file_(file),
        end_(std::min((index + 1) * checksum_block, file.size())),
        at_(index * checksum_block),
        bytes_(new char[capacity]) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return end_ - at_; }

  // What comes next, as many bytes as that or as are left.
  std::string_view look(size_t wanted) {
    const size_t size = std::min<uint64_t>(wanted, left());
    if (size > held_) read_more(size);
    return {bytes_.get() + first_, size};
  }

  void pass(size_t size) {
    sum_.add(bytes_.get() + first_, size);
    first_ += size;
    held_ -= size;
    at_ += size;
  }

  uint64_t checksum() const { return sum_.value(); }

 private:
  static constexpr size_t capacity = 2 * chunk_most;

  void read_more(size_t wanted) {
    if (first_ + wanted > capacity) {
      std::memmove(bytes_.get(), bytes_.get() + first_, held_);
      first_ = 0;
    }
    while (held_ < wanted) {
      const ssize_t got = pread(file_.source.get(), bytes_.get() + first_ + held_, wanted - held_,
                                static_cast<off_t>(at_ + held_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) OsFailure{errno}.raise("reading " + file_.described);
      if (got == 0) throw_changed(file_.described);
      held_ += static_cast<size_t>(got);
    }
  }

  const File &file_;
  const uint64_t end_;
  uint64_t at_;
  size_t first_ = 0, held_ = 0;  // in bytes_, from at_ on
  std::unique_ptr<char[]> bytes_;
  Checksum sum_;
};

// What may follow at one place after the other of a block, from what is remembered of it.
class Expected {
 public:
  Expected(const RememberedFile *file, size_t index, uint64_t size)
      : chunks_(file != nullptr && index < file->blocks.size() ? &file->blocks[index] : nullptr),
        same_end_(file != nullptr && file->size == size),
        end_(file != nullptr ? file->size : 0) {}

  // Null: nothing. The last chunk of a file that has grown is not: there would be no cut here.
  const RememberedChunk *at(uint64_t offset) {
    if (chunks_ == nullptr) return nullptr;
    while (next_ < chunks_->size() && (*chunks_)[next_].offset < offset) ++next_;
    if (next_ == chunks_->size() || (*chunks_)[next_].offset != offset) return nullptr;
    const RememberedChunk &chunk = (*chunks_)[next_];
    return same_end_ || offset + chunk.chunk.size != end_ ? &chunk : nullptr;
  }

 private:
  const std::vector<RememberedChunk> *chunks_;
  const bool same_end_;
  const uint64_t end_;
  size_t next_ = 0;
};

ChunkedFiles Cutter::cut(const Tree &source, const std::vector<std::string> &paths, bool confined) {
  Buffer buffer;
  if (progress_ != nullptr) {
    uint64_t bytes = 0;
    struct stat about {};
    for (const std::string &path : paths)
      if (fstatat(source.fd.get(), path.c_str(), &about, 0) == 0)
        bytes += static_cast<uint64_t>(about.st_size);
    progress_->expect(bytes, paths.size());
  }
  for (const std::string &path : paths)
    pool_.submit([&, path](Buffer &own) { start(source, path, confined, own); }, buffer);
  wait_for(pool_, buffer, progress_);
  return std::move(done_);
}

void Cutter::start(const Tree &source, const std::string &path, bool confined, Buffer &buffer) {
  auto file = std::make_shared<File>();
  file->path = path;
  file->described = source.name_of(path);
  file->source = open_to_read(source, path, confined);
  if (fstat(file->source.get(), &file->before) != 0)
    OsFailure{errno}.raise("looking at " + file->described);
  if (!S_ISREG(file->before.st_mode)) throw_changed(file->described);
  file->remembered = memory_.recall(path);
  file->sums.resize(checksum_blocks(file->size()));
  file->cut.size = file->size();
  file->cut.blocks.resize(file->sums.size());
  file->blocks_left = file->sums.size();
  for (size_t block = 0; block < file->sums.size(); ++block)
    pool_.submit(
        [this, file, block](Buffer &) {
          save_block(*file, block);
          if (--file->blocks_left == 0) finish(*file);
        },
        buffer);
}

void Cutter::save_block(File &file, size_t index) {
  Block block(file, index);
  Expected expected(file.remembered.get(), index, file.size());
  std::vector<RememberedChunk> &cut = file.cut.blocks[index];
  while (block.left() > 0) {
    RememberedChunk next{block.at(), {}, {}};
    const RememberedChunk *known = expected.at(block.at());
    if (known != nullptr && known->chunk.size <= block.left()) {
      const std::string_view bytes = block.look(known->chunk.size);
      next.hash = memory_.hash_of(bytes.data(), bytes.size());
      if (next.hash == known->hash) next.chunk = known->chunk;
    }
    std::string_view bytes = block.look(next.chunk.size > 0 ? next.chunk.size : chunk_most);
    if (next.chunk.size == 0) {
      bytes = bytes.substr(0, chunk_length(bytes.data(), bytes.size()));
      next.hash = memory_.hash_of(bytes.data(), bytes.size());
      next.chunk = {name_of_chunk(bytes), bytes.size()};
    }
    next.chunk.name = place(next.chunk.name, bytes, file.before.st_mode);
    cut.push_back(next);
    block.pass(bytes.size());
    if (progress_ != nullptr) progress_->add_bytes(bytes.size());
  }
  file.sums[index] = block.checksum();
}

ChunkName Cutter::place(ChunkName name, std::string_view bytes, unsigned mode) {
  name = chunks_.usable(name, condemned_);
  if (chunks_.has(name, mode)) return name;
  chunks_.put(name, bytes, mode);
  new_bytes_ += bytes.size();
  return name;
}

void Cutter::finish(File &file) {
  struct stat after {};
  if (fstat(file.source.get(), &after) != 0) OsFailure{errno}.raise("looking at " + file.described);
  const FileStamp stamp = FileStamp::of(after);
  if (stamp != FileStamp::of(file.before)) throw_changed(file.described);
  ChunkedFile done{file.size(),
                   combined_checksum(file.sums),
                   file.before.st_mode & 0777,
                   stamp.mtime_ns,
                   chunks_.owner(),
                   {}};
  done.is_sparse = is_sparse(file.before);
  for (const std::vector<RememberedChunk> &block : file.cut.blocks)
    for (const RememberedChunk &chunk : block) done.chunks.push_back(chunk.chunk);
  memory_.keep(file.path, std::move(file.cut));
  if (progress_ != nullptr) progress_->add_file();
  const std::lock_guard lock(mutex_);
  done_.insert_or_assign(file.path, std::move(done));
}

}  // namespace

bool is_cut(const TreeEntry &entry) {
  return S_ISREG(entry.about.st_mode) && entry.about.st_size >= static_cast<off_t>(chunk_least);
}

// In the order that chunk_sweep.h asks for.
ChunkedFiles ChunkSaver::add(const Tree &source, const std::vector<std::string> &paths,
                             bool confined, Progress *progress) {
  if (paths.empty()) return {};
  const std::shared_ptr<ChunkTurn> turn = begin_();
  const std::set<ChunkName> condemned = condemned_chunks(turn->chunks());
  Cutter cutter(turn->chunks(), condemned, *memory_, progress);
  ChunkedFiles saved = cutter.cut(source, paths, confined);
  turn->chunks().flush();
  uint64_t bytes = 0;
  for (const auto &[path, file] : saved) {
    bytes += file.size;
    files_.insert_or_assign(path, file);
  }
  turn->publish(files_);
  logger_->debug("stored " + std::to_string(bytes) + " bytes in chunks, " +
                 std::to_string(cutter.new_bytes()) + " of them new");
  return saved;
}

void ChunkSaver::forget(const std::string &path) {
  if (files_.erase(path) > 0) begin_()->publish(files_);
}

}  // namespace det::storage
