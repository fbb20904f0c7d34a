#include "core/cloud/fetch_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/cloud/range_sink.h"
#include "core/cloud/request_pool.h"
#include "core/cloud/running_checksum.h"
#include "core/storage/block_checksum.h"
#include "core/storage/file_transfer.h"
#include "core/storage/manifest.h"

namespace det::cloud {

using storage::checksum_block;

namespace {

// Bytes of one request. Several share a block of a checksum, or one is a block, whose checksum then
// costs no reading.
constexpr uint64_t short_range = uint64_t{16} << 20;
constexpr uint64_t many_blocks = 16;  // so many are enough to keep all requests busy

class Fetch {
 public:
  Fetch(ObjectStore &store, const storage::Tree &target, size_t requests,
        storage::Progress *progress)
      : store_(store), target_(target), pool_(requests, progress) {}

  void run(const std::vector<FileToFetch> &files) {
    auto next = files.begin();
    pool_.run([&]() -> RequestPool::Task {
      if (next == files.end()) return nullptr;
      return [this, &file = *next++] { start(file); };
    });
  }

 private:
  struct File;
  struct Range;
  using FilePtr = std::shared_ptr<File>;

  void start(const FileToFetch &what);
  void check_size(const FileToFetch &what);
  void submit(const FilePtr &file, const Range &range);
  void fetch(File &file, const Range &range);
  static void read_on(File &file, const Range &range);
  void finish(File &file);

  ObjectStore &store_;
  const storage::Tree &target_;
  RequestPool pool_;  // last: its threads use what stands above
};

// What one request brings.
struct Fetch::Range {
  const std::string &key;
  uint64_t from;   // in the object
  uint64_t begin;  // in the file
  uint64_t size;   // of it
  bool is_end;     // of the object
};

struct Fetch::File {
  File(const storage::Tree &tree, const FileToFetch &from)
      : target(tree),
        what(from),
        fd(std::make_shared<const Fd>(
            storage::make_file_beneath(tree, from.path, default_file_mode))),
        range(from.size > many_blocks * checksum_block ? checksum_block : short_range),
        sums_on_the_way(from.pieces.empty() && (range == checksum_block || from.size <= range)),
        blocks(storage::checksum_blocks(from.size)),
        checksum(fd, from.size, tree.name_of(from.path)) {}
  ~File() {
    if (finished) return;
    try {
      std::string leaf;
      const Fd parent = storage::open_parent_beneath(target, what.path, &leaf);
      unlinkat(parent.get(), leaf.c_str(), 0);
    } catch (const std::exception &) {
      // Already failing; the half file stays.
    }
  }

  const storage::Tree &target;
  const FileToFetch &what;
  const std::shared_ptr<const Fd> fd;
  const uint64_t range;
  const bool sums_on_the_way;  // each range is a block
  std::vector<uint64_t> blocks;
  std::atomic<size_t> ranges_left{1};
  bool finished = false;

  // Of those that are no blocks: what has come without a gap is read while it is in memory.
  RunningChecksum checksum;
  std::mutex mutex;
  std::map<uint64_t, uint64_t> behind_gap;  // ends by beginnings
  uint64_t gapless = 0;
};

// Before room is made for what a manifest says.
void Fetch::check_size(const FileToFetch &what) {
  const auto damaged = [&](const std::string &how) {
    storage::throw_damaged("'" + store_.name_of(what.key) + "'", how);
  };
  const std::optional<ObjectInfo> info = store_.find(what.key);
  if (!info) damaged("the object is missing");
  if (info->size != what.size)
    damaged("it has " + std::to_string(info->size) + " bytes instead of " +
            std::to_string(what.size));
}

void Fetch::start(const FileToFetch &what) {
  if (what.pieces.empty() && what.size > short_range) check_size(what);
  const auto file = std::make_shared<File>(target_, what);
  if (what.is_sparse()) storage::resize(file->fd->get(), what.size, target_.name_of(what.path));
  if (what.pieces.empty() && what.size <= file->range) {
    fetch(*file, {what.key, 0, 0, what.size, true});
    return finish(*file);
  }
  // A disk that is full says so now. Not every file system can set room aside.
  if (!what.is_sparse() && fallocate(file->fd->get(), 0, 0, static_cast<off_t>(what.size)) != 0 &&
      (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
    OsFailure{errno}.raise("making room for " + target_.name_of(what.path));
  if (what.pieces.empty()) {
    file->ranges_left = static_cast<size_t>((what.size - 1) / file->range + 1);
    for (uint64_t begin = 0; begin < what.size; begin += file->range) {
      const uint64_t size = std::min(file->range, what.size - begin);
      submit(file, {what.key, begin, begin, size, begin + size == what.size});
    }
    return;
  }
  file->ranges_left = what.pieces.size();
  uint64_t begin = 0;
  for (const Piece &piece : what.pieces) {
    submit(file, {piece.key, 0, begin, piece.size, true});
    begin += piece.size;
  }
}

void Fetch::submit(const FilePtr &file, const Range &range) {
  pool_.submit([this, file, range] {
    fetch(*file, range);
    if (--file->ranges_left == 0) finish(*file);
  });
}

void Fetch::fetch(File &file, const Range &range) {
  const FileToFetch &what = file.what;
  const auto sink = std::make_shared<RangeSink>(
      file.fd, target_.name_of(what.path), range.begin, range.size, pool_.moved(),
      what.checksum && file.sums_on_the_way, what.is_sparse());
  const auto throw_damaged = [&](const std::string &how) {
    const std::string in =
        what.pieces.empty() ? "" : "of its chunk '" + store_.name_of(range.key) + "': ";
    storage::throw_damaged("'" + store_.name_of(what.key) + "'", in + how);
  };
  try {
    // One byte more than there should be tells of an object that has grown.
    store_.get(range.key, range.from, range.is_end ? range.size + 1 : range.size, what.version,
               sink);
  } catch (const Error &error) {
    if (error.code == Code::not_found) throw_damaged("the object is missing");
    if (error.code == Code::conflict) throw_damaged("the object was replaced meanwhile");
    if (error.code == Code::invalid && error.http_status == 416)
      throw_damaged("it ends before byte " + std::to_string(range.from));
    throw;
  }
  const uint64_t end = range.from + range.size;
  if (sink->done() > range.size)
    throw_damaged("it has more than " + std::to_string(end) + " bytes");
  if (sink->done() < range.size)
    throw_damaged("it has " + std::to_string(range.from + sink->done()) + " bytes instead of " +
                  std::to_string(what.pieces.empty() ? what.size : end));
  if (file.sums_on_the_way) file.blocks[range.begin / checksum_block] = sink->checksum();
  else if (what.checksum) read_on(file, range);
}

void Fetch::read_on(File &file, const Range &range) {
  uint64_t end = 0;
  {
    const std::lock_guard lock(file.mutex);
    file.behind_gap.emplace(range.begin, range.begin + range.size);
    for (auto next = file.behind_gap.begin();
         next != file.behind_gap.end() && next->first == file.gapless;
         next = file.behind_gap.erase(next))
      file.gapless = next->second;
    end = file.gapless;
  }
  file.checksum.advance(end);
}

void Fetch::finish(File &file) {
  if (file.what.checksum) {
    const uint64_t found =
        file.sums_on_the_way ? storage::combined_checksum(file.blocks) : file.checksum.value();
    if (found != *file.what.checksum)
      storage::throw_damaged("'" + store_.name_of(file.what.key) + "'",
                             "its checksum differs from the manifest's");
  }
  if (file.what.attributes)
    storage::set_attributes(file.fd->get(), file.what.attributes->as_stat(),
                            target_.name_of(file.what.path));
  file.finished = true;
  pool_.count_file();
}

}  // namespace

void fetch_files(ObjectStore &store, const std::vector<FileToFetch> &files,
                 const storage::Tree &target, size_t requests, storage::Progress *progress) {
  if (files.empty()) return;
  uint64_t bytes = 0;
  for (const FileToFetch &file : files) bytes += file.size;
  if (progress != nullptr) progress->expect(bytes, files.size());
  Fetch(store, target, requests, progress).run(files);
}

}  // namespace det::cloud
